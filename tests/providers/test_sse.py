"""The SSE reader agrees with a plain reading of the standard, however the bytes are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wisp.providers.errors import WireError
from wisp.providers.replayed import chunked
from wisp.providers.sse import SseReader


def reference(data):
    """WHATWG HTML, 9.2.6, line by line over the whole stream; bytes, and no dispatch at the end."""
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")[:-1]
    found, name, buffer = [], b"", b""
    for line in lines:
        if not line:
            if buffer:
                found.append((name.decode("utf-8", "replace"), buffer[:-1]))
            name, buffer = b"", b""
        elif not line.startswith(b":"):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                buffer += value + b"\n"
            elif field == b"event":
                name = value
    return found


def read(pieces, flush=False):
    reader = SseReader()
    found = [event for piece in pieces for event in reader.feed(piece)]
    return found + reader.flush() if flush else found


TRICKY = [
    b"data: a\n\ndata: b\n\n",
    b"\xef\xbb\xbfdata: a\r\n\r\ndata: b\r\r",
    b": comment\n\nevent: x\ndata:  two spaces\ndata:none\ndata\n\n",
    b"\n\n\ndata: after blank lines\n\n",
    b"id: 7\nretry: 10\nunknown: field\ndata: kept\n\n",
    b"event: no data\n\ndata: next has no name\n\n",
    b"data: \xc3\xa9\xe6\xbc\xa2\r\ndata: \xf0\x9f\x99\x82\r\n\r\n",
    b"data: unfinished\n\ndata: the rest",
    b"data\n\ndata:\n\ndata: \n\n",
    b"data: mixed\r\n\ndata: ends\n\r\n",
    b"datax: no\n data: no\ndata : no\ndata: yes\n\n",
]


@pytest.mark.parametrize("data", TRICKY)
def test_every_split_in_two_reads_like_the_standard(data):
    for cut in range(len(data) + 1):
        assert read([data[:cut], data[cut:]]) == reference(data), cut


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("data", TRICKY)
def test_pieces_of_any_size_read_like_the_standard(data, size):
    assert read(chunked(data, size)) == reference(data)


@given(
    st.lists(
        st.sampled_from(
            [
                b"data",
                b"event",
                b": ",
                b":",
                b" ",
                b"\n",
                b"\r",
                b"\r\n",
                b"x",
                b"\xc3",
                b"\xef\xbb\xbf",
                b"{}",
            ]
        )
    ),
    st.lists(st.integers(1, 6)),
)
def test_any_bytes_read_like_the_standard(parts, sizes):
    data = b"".join(parts)
    # a CR as the last byte ends its line at once for the standard, for us when the next byte has come
    assert read(chunked(data + b"x", sizes)) == reference(data + b"x")


def test_an_event_whose_blank_line_never_came_is_given_out_at_the_end():
    assert read([b"data: a\n\ndata: b\n"], flush=True) == [("", b"a"), ("", b"b")]


def test_a_line_whose_end_never_came_is_given_out_at_the_end():
    assert read([b"data: a\n\ndata: b"], flush=True) == [("", b"a"), ("", b"b")]


def test_a_line_without_end_is_refused_with_flat_memory():
    reader = SseReader(max_event=1000)
    with pytest.raises(WireError):
        for _ in range(1001):
            reader.feed(b"data: 1234567890")
    with pytest.raises(WireError):
        reader.feed(b"x")
