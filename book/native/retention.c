/* Keeping the head and the tail of an output: the native side of the pair.  Same contract as retention.py. */
#include <stddef.h>

void keep(const char *data, size_t size, size_t head, size_t tail, size_t *out)
{
    if (size <= head + tail) {
        out[0] = size;
        out[1] = size;
        out[2] = 0;
        return;
    }
    size_t end = head;
    for (size_t at = head; at > 0; at--)
        if (data[at - 1] == '\n') {
            end = at;
            break;
        }
    size_t start = size - tail;
    for (size_t at = start > 0 ? start - 1 : 0; at < size; at++)
        if (data[at] == '\n') {
            if (at + 1 < size && at + 1 > start)
                start = at + 1;
            break;
        }
    size_t lines = 0;
    for (size_t at = end; at < start; at++)
        lines += data[at] == '\n';
    out[0] = end;
    out[1] = start;
    out[2] = lines;
}
