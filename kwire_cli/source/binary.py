"""Telling bytes from text, and the binary files that kwire knows by their first bytes."""

from __future__ import annotations

CAPTURE = "a packet capture"
# What stands at a file's start, and what such a file is.
MAGICS = (
    (b"\xa1\xb2\xc3\xd4", f"{CAPTURE} (pcap)"),
    (b"\xd4\xc3\xb2\xa1", f"{CAPTURE} (pcap)"),
    (b"\xa1\xb2\x3c\x4d", f"{CAPTURE} (pcap)"),
    (b"\x4d\x3c\xb2\xa1", f"{CAPTURE} (pcap)"),
    (b"\x0a\x0d\x0d\x0a", f"{CAPTURE} (pcapng)"),
    (b"\x1f\x8b", "compressed by gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
)

# Control characters that text does not hold: all but tab, line feed, form feed, carriage return and vertical tab.
_CONTROLS = bytes(byte for byte in (*range(32), 127) if byte not in b"\t\n\v\f\r")


def recognised_binary(data: bytes) -> str | None:
    """What a file is by its first bytes ("a packet capture (pcap)"), when it is one of binary form; else None."""
    return next((what for magic, what in MAGICS if data.startswith(magic)), None)


def as_text(data: bytes) -> str | None:
    """The text that bytes are, in UTF-8 or, behind a byte order mark, UTF-16; None when they are no text."""
    try:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            text = data.decode("utf-16")
            # Random bytes make UTF-16 easily, but not such as these forms are written in.
            return text if text.isascii() and not has_controls(text.encode()) else None
        return None if has_controls(data) else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def begins_as_text(start: bytes) -> bool:
    """Whether a file that begins so may be text, in UTF-8 or UTF-16 (which has zeros)."""
    return not has_controls(start.replace(b"\0", b"") if start[:2] in (b"\xff\xfe", b"\xfe\xff") else start)


def has_controls(data: bytes) -> bool:
    """Whether bytes hold control characters that text does not."""
    return len(data.translate(None, _CONTROLS)) != len(data)
