"""Pictures and documents made at run time from nothing but the standard library.

Invariant: the same arguments give the same bytes, so screenshots of them can be compared across runs.
"""

import colorsys
import random
import struct
import zlib
from functools import cache

Colour = tuple[int, int, int]


def colour(n: int) -> Colour:
    """The n-th of a family of colours that are easy to tell apart."""
    r, g, b = colorsys.hsv_to_rgb((n * 0.381966) % 1.0, 0.65, 0.85)
    return round(r * 255), round(g * 255), round(b * 255)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, rows: list[bytes]) -> bytes:
    """A PNG of 8-bit RGB rows, `width * 3` bytes each."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


@cache
def plain(n: int, width: int = 400, height: int = 300) -> bytes:
    """A picture of one colour, `colour(n)`."""
    return png(width, height, [bytes(colour(n)) * width] * height)


@cache
def photo(n: int, width: int = 320, height: int = 240) -> bytes:
    """A landscape with grain: about as many bytes, and as hard to decode, as a small photograph."""
    noise = random.Random(n)
    sky, land = colour(n), colour(n + 7)
    horizon = height * (2 + n % 3) // 6
    length = width + height

    def ramp(base: Colour, low: float, high: float) -> bytes:
        return bytes(int(channel * (low + (high - low) * i / length) * 0.9) for i in range(length) for channel in base)

    above, below = ramp(sky, 1.0, 0.6), ramp(land, 0.3, 0.9)
    # Adding whole rows as integers keeps the grain out of Python's inner loop; bytes stay below 256.
    fine, coarse = (int.from_bytes(mask * (width * 3), "big") for mask in (b"\x01", b"\x03"))
    rows = []
    for y in range(height):
        smooth = (above if y < horizon else below)[y * 3 : (y + width) * 3]
        rough = int.from_bytes(noise.randbytes(width * 3), "big") & (coarse if y > horizon and y % 3 == 0 else fine)
        rows.append((int.from_bytes(smooth, "big") + rough).to_bytes(width * 3, "big"))
    return png(width, height, rows)


@cache
def pdf(text: str = "Hello from a PDF") -> bytes:
    """A minimal valid one-page PDF."""
    stream = f"BT /F1 36 Tf 72 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body = b"%PDF-1.4\n"
    offsets = []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + trailer
