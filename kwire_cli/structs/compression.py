"""The framings of compressed record sets: xerial's for snappy, LZ4 frames, zstd blocks, gzip members.

Sources: org.xerial.snappy.SnappyCodec and SnappyOutputStream; the LZ4 frame format 1.6, which
org.apache.kafka.common.compress.Lz4BlockInputStream reads in part; RFC 8878 (zstd); RFC 1952 (gzip). The names
come from these sources.
"""

from __future__ import annotations

from construct import Bytes, FormatField, Int8ub, Int32sb, Struct

_U16 = FormatField("<", "H")
_U32 = FormatField("<", "L")
_U64 = FormatField("<", "Q")

# snappy

XERIAL_MAGIC = b"\x82SNAPPY\0"
XERIAL_VERSION = 1
"""Both words of the header; some clients wrote them in the byte order of their machine."""
XERIAL_HEADER = Struct("magic" / Bytes(8), "version" / Int32sb, "compatible_version" / Int32sb)
XERIAL_CHUNK = Struct("size" / Int32sb)
"""Before every chunk, a raw snappy block. The header may come again in its place: streams can be joined."""

# LZ4

LZ4_MAGIC = 0x184D2204
LZ4_VERSION = 0x40
LZ4_VERSION_MASK = 0xC0
LZ4_INDEPENDENT = 0x20
LZ4_BLOCK_CHECKSUM = 0x10
LZ4_SIZE = 0x08
LZ4_CONTENT_CHECKSUM = 0x04
LZ4_DICTIONARY = 0x01
"""Bits of the flags."""
LZ4_BLOCK_SIZES = {4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22}
LZ4_BLOCK_SIZE_SHIFT = 4
"""The bits of the block descriptor with the maximum size of a decompressed block."""
LZ4_STORED = 0x80000000
"""The bit of a block's size that marks an uncompressed block. The size excludes the checksum after the block. A size of
0 ends the frame."""

LZ4_DESCRIPTOR = Struct("flags" / Int8ub, "block_descriptor" / Int8ub)
LZ4_SIZED_DESCRIPTOR = Struct("flags" / Int8ub, "block_descriptor" / Int8ub, "content_size" / _U64)
LZ4_START = Struct("magic" / _U32, "descriptor" / LZ4_DESCRIPTOR)
LZ4_HEADER = Struct("magic" / _U32, "descriptor" / LZ4_DESCRIPTOR, "header_checksum" / Int8ub)
LZ4_SIZED_HEADER = Struct("magic" / _U32, "descriptor" / LZ4_SIZED_DESCRIPTOR, "header_checksum" / Int8ub)
"""The header of a frame with LZ4_SIZE among its flags. The checksum is the second byte of the xxHash32 of the
descriptor. Kafka before 0.10 took the magic along (KAFKA-3160), and still does in message sets of magic 0."""
LZ4_BLOCK = Struct("size" / _U32)
LZ4_CHECKSUM = Struct("checksum" / _U32)
"""xxHash32 of a block as it is written, or of the whole content."""

# zstd

ZSTD_MAGIC = 0xFD2FB528
ZSTD_SKIPPABLE = 0x184D2A50
ZSTD_SKIPPABLE_MASK = 0xFFFFFFF0
ZSTD_START = Struct("magic" / _U32)
ZSTD_SKIPPABLE_HEADER = Struct("magic" / _U32, "size" / _U32)
ZSTD_BLOCK = Struct("low" / _U16, "high" / Int8ub)
"""One number of three bytes, the lowest first: bit 0 marks the last block, bits 1 and 2 are its type, the rest its
size."""
ZSTD_RLE = 1
"""The type of a block whose content is one byte, to be repeated `size` times."""
ZSTD_CHECKSUM = Struct("checksum" / _U32)
ZSTD_PLAIN_HEADER = Struct("magic" / _U32, "descriptor" / Int8ub, "window" / Int8ub)
"""The header of a frame without the size of its content. The two low bits of the descriptor are the size of the
dictionary's id after it, 1 or 2 bytes for these numbers; an id of 0 means no dictionary."""

# gzip

GZIP_MAGIC = b"\x1f\x8b"
GZIP_DEFLATE = 8
GZIP_OS_UNKNOWN = 255
GZIP_NAME = 0x08
"""The flag of a name after the header, which a zero ends."""
GZIP_HEADER = Struct(
    "magic" / Bytes(2),
    "compression_method" / Int8ub,
    "flags" / Int8ub,
    "mtime" / _U32,
    "extra_flags" / Int8ub,
    "operating_system" / Int8ub,
)
GZIP_TRAILER = Struct("crc32" / _U32, "isize" / _U32)
