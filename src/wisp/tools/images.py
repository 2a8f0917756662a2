"""Making a picture small enough for a request, where the extra `images` is installed.

Knows media types and pixels, nothing of files or models.
"""

from __future__ import annotations

import warnings
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from wisp.messages.tool import ToolFailure

if TYPE_CHECKING:
    from PIL.Image import Image

LONG_SIDE = 1568
"""Pixels; services scale down what is longer."""
MAX_PIXELS = 64_000_000
"""Most that are decoded: 256 MB at four bytes each."""
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")


class Picture(NamedTuple):
    """What is sent."""

    data: bytes
    kind: str
    note: str
    """What was done to it; empty when nothing was."""


def available() -> bool:
    """Whether the extra is there."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        return False
    return True


def fitted(data: bytes, kind: str, name: str, most: int) -> Picture:
    """The picture itself where it is small enough, else a smaller copy of at most `most` bytes.

    Raises:
        ToolFailure: `too_large` when it has too many pixels, `binary` when it is damaged.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its own alarm is louder than ours and comes later
            image: Image.Image = Image.open(BytesIO(data), formats=_FORMATS)
        size = image.size
        if len(data) <= most and max(size) <= LONG_SIDE:
            return Picture(data, kind, "")
        image.draft("RGB", (LONG_SIDE, LONG_SIDE))
        if image.size[0] * image.size[1] > MAX_PIXELS:
            raise ToolFailure(
                "too_large",
                f"{name} has {size[0]:,} x {size[1]:,} pixels, more than {MAX_PIXELS:,}; "
                "make a smaller copy with bash",
            )
        return _smaller(image, kind, most, size)
    except UnidentifiedImageError:
        if len(data) <= most:
            return Picture(data, kind, "")
        raise ToolFailure("binary", f"{name} begins like an image but is damaged") from None
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as exc:
        raise ToolFailure("binary", f"{name} is an image that cannot be decoded: {exc}") from None


def _smaller(image: Image, kind: str, most: int, size: tuple[int, int]) -> Picture:
    from PIL import ImageOps

    frames = getattr(image, "n_frames", 1)
    whole = ImageOps.exif_transpose(image)
    clear = "A" in whole.getbands() or "transparency" in whole.info
    whole = whole.convert("RGBA" if clear else "RGB")
    side = LONG_SIDE
    while True:
        copy = whole.copy()
        copy.thumbnail((side, side))
        out = BytesIO()
        if clear or kind in ("image/png", "image/gif"):
            made = "image/png"
            copy.save(out, "PNG", optimize=True)
        else:
            made = "image/jpeg"
            copy.save(out, "JPEG", quality=85)
        if len(out.getvalue()) <= most or side < 64:
            break
        side = side * 3 // 4
    note = f"{size[0]}x{size[1]}, shown as {copy.size[0]}x{copy.size[1]}"
    return Picture(out.getvalue(), made, note + (f", the first of {frames} frames" if frames > 1 else ""))
