"""An answer that is one document and no stream, read whole.  Knows no format."""

from __future__ import annotations

from wisp.providers.errors import WireError
from wisp.providers.transport import Response

MAX_DOCUMENT = 16 << 20


async def document_of(response: Response) -> bytes:
    """All of it.

    Raises:
        WireError: it is longer than `MAX_DOCUMENT`.
        ProviderError: the connection broke.
    """
    pieces: list[bytes] = []
    size = 0
    while piece := await response.read():
        pieces.append(piece)
        size += len(piece)
        if size > MAX_DOCUMENT:
            raise WireError(f"the answer is longer than {MAX_DOCUMENT} bytes")
    return b"".join(pieces)
