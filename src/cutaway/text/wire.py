"""Protocol-buffer wire format, as much as a sentencepiece file uses, with every bound checked.

sentencepiece parses in C++, where a broken file may end the process; so a file is read here
first, and only what was understood and checked is handed on.
"""

import struct

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

Value = int | float | bytes


class WireError(ValueError):
    """Bytes that are no message: a cut varint, a length past the end, an unknown wire type."""


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The base-128 number at `at`, and the place after it: Σ (byteᵢ & 127) · 128ⁱ."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise WireError(f"a number is cut off at byte {at}")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (2**64 - 1), at
    raise WireError(f"a number of more than ten bytes ends at byte {at}")


def read_message(data: bytes, most: int = 10_000) -> list[tuple[int, Value]]:
    """(field number, value) in file order, `most` of them; a nested message stays bytes."""
    fields: list[tuple[int, Value]] = []
    at = 0
    while at < len(data):
        if len(fields) >= most:  # a field may be two bytes in the file and a hundred in memory
            raise WireError(f"more than {most:,} fields before byte {at}")
        key, at = read_varint(data, at)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise WireError(f"field number 0 before byte {at}")
        if wire == VARINT:
            integer, at = read_varint(data, at)
            fields.append((number, integer))
            continue
        if wire == BYTES:
            size, at = read_varint(data, at)
        elif wire in (FIXED32, FIXED64):
            size = 4 if wire == FIXED32 else 8
        else:
            raise WireError(f"wire type {wire} before byte {at}")
        if size > len(data) - at:
            raise WireError(f"field {number} wants {size} bytes at byte {at} of {len(data)}")
        raw = data[at : at + size]
        at += size
        if wire == BYTES:
            fields.append((number, raw))
        else:
            fields.append((number, float(struct.unpack("<f" if size == 4 else "<d", raw)[0])))
    return fields


def varint(value: int) -> bytes:
    """A non-negative number in base 128, low digits first, the high bit saying "more follows"."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, value: Value | bool | str) -> bytes:
    """One field: ints and bools as varints, floats as 32 bits, text and bytes with a length."""
    if isinstance(value, float):
        return varint(number << 3 | FIXED32) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3 | VARINT) + varint(int(value))
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | BYTES) + varint(len(raw)) + raw
