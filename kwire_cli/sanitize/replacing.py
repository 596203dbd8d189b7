"""Replacements of names, values and addresses, and fillings without information, all of equal length.

A keyed hash maps each value to its replacement, so equal values stay equal. Compressed data must keep its size too:
each codec has bytes without information that fill the rest.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.fixed import fixed
from kwire_cli.records.block_codecs import header_checksums
from kwire_cli.records.kafka_topics import OWN_TOPICS
from kwire_cli.structs import compression as declared
from kwire_cli.structs.numbers import UVARINT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# Fillings: bytes without information, in place of bytes that could not be read. Decoding stops at them for the same
# reason.

NOTHING = b"\xff"
"""A repeated byte that is not a valid size of a frame or batch, not an api, and as a varint does not end."""


VARINT_BEYOND = b"\xfe\xff\xff\xff\x0f"
"""The zigzag varint of the maximum length, which ends after all bytes."""
COMPACT_BEYOND = b"\xff\xff\xff\xff\x07"
"""The maximum length as an unsigned varint."""
STRING_BEYOND = b"\xff\xff\x01"
"""The unsigned varint of the maximum valid length of a compact string."""
BEYOND = b"\x7f\xff\xff\xff"
"""The maximum length as an int32, and as an int16."""


MAX_ZEROS = 16
"""Maximum number of zeros before a too large length. They decode as 0 and empty strings: no error, no throttling."""


def fillings(size: int) -> Iterator[bytes]:
    """Yield fillings of this size, in the order in which they are tried."""
    for zeros in range(min(size, MAX_ZEROS) + 1):
        for beyond in (BEYOND, STRING_BEYOND, COMPACT_BEYOND, VARINT_BEYOND):
            yield (bytes(zeros) + beyond)[:size].ljust(size, b"\0")
    for byte in (b"\0", BEYOND[:1], NOTHING):
        yield byte * size


# Compressed bytes of an exact size, as a replacement has to be as long as the original.
#
# Each format has a place for bytes without information: a name in gzip's header, empty blocks in zstd. In lz4 and
# snappy, the end of the data is stored uncompressed, as much of it as gives the wanted size. All readers of these
# formats, including Kafka's, accept the result.

_LZ4_BLOCK = fixed(declared.LZ4_BLOCK).pack
_XERIAL_CHUNK = fixed(declared.XERIAL_CHUNK).pack


_NEAR = 48
"""Number of cuts before and after the estimated cut that are tried."""
_MOST_SPLITS = 24
_STORED = 24
"""Bytes of a stored piece. It is smaller than any message, so that no message is visible in compressed data."""
_ZSTD_LEVEL = 12
_GZIP_LEVEL = 9
_SMALL_BLOCK = 4
_LARGE_BLOCK = 7


def fitted(codec: int, data: bytes, like: bytes, *, magic: int = 2) -> bytes | None:
    """Compress data to exactly the size of `like`. Return None if that is impossible.

    Args:
        codec: The number of a codec in CODECS.
        data: The data to compress.
        like: The original bytes in the same codec.
        magic: The format of the record set.

    """
    fit = _FITS.get(codec)
    return fit(data, like, magic) if fit else None


def _gzip(data: bytes, like: bytes, magic: int) -> bytes | None:  # noqa: ARG001 - the same for all codecs
    packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(data) + packer.flush()
    trailer = declared.GZIP_TRAILER.build({"crc32": zlib.crc32(data), "isize": len(data) & 0xFFFFFFFF})
    room = len(like) - len(packed) - len(trailer) - fixed(declared.GZIP_HEADER).size
    if room < 0:
        return None
    values = {
        "magic": declared.GZIP_MAGIC,
        "compression_method": declared.GZIP_DEFLATE,
        "flags": declared.GZIP_NAME if room else 0,
        "mtime": 0,
        "extra_flags": 0,
        "operating_system": declared.GZIP_OS_UNKNOWN,
    }
    name = b"x" * (room - 1) + b"\0" if room else b""
    return bytes(declared.GZIP_HEADER.build(values) + name + packed + trailer)


def _zstd(data: bytes, like: bytes, magic: int) -> bytes | None:  # noqa: ARG001 - as above
    import zstandard  # noqa: PLC0415 - start-up is a feature

    packer = zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_content_size=False).compressobj(size=len(data))
    packed = packer.compress(data) + packer.flush()
    room = len(like) - len(packed)
    if room < 0:
        return None
    layout = fixed(declared.ZSTD_PLAIN_HEADER)
    empty = declared.ZSTD_BLOCK.build({"low": 0, "high": 0})
    blocks, id_size = divmod(room, len(empty))
    start, descriptor, window = layout.unpack(packed)
    header: bytes = layout.pack(start, descriptor | id_size, window)
    return b"".join((header, bytes(id_size), empty * blocks, packed[layout.size :]))


def _lz4(data: bytes, like: bytes, magic: int) -> bytes | None:
    import lz4.block  # noqa: PLC0415 - start-up is a feature

    block = _SMALL_BLOCK if len(data) <= declared.LZ4_BLOCK_SIZES[_SMALL_BLOCK] else _LARGE_BLOCK
    if len(data) > declared.LZ4_BLOCK_SIZES[block]:
        return None
    flags = declared.LZ4_VERSION | declared.LZ4_INDEPENDENT
    values: Any = {
        "magic": declared.LZ4_MAGIC,
        "descriptor": {"flags": flags, "block_descriptor": block << declared.LZ4_BLOCK_SIZE_SHIFT},
    }
    right, broken = header_checksums(declared.LZ4_START.build(values))
    header = declared.LZ4_HEADER.build({**values, "header_checksum": right if magic > 0 else broken})

    def build(cut: int, splits: int) -> bytes:
        packed = lz4.block.compress(data[:cut], store_size=False) if cut else b""
        parts = [header]
        if cut:
            parts += (_LZ4_BLOCK(len(packed)), packed)
        for piece in _pieces(data[cut:], splits):
            parts += (_LZ4_BLOCK(len(piece) | declared.LZ4_STORED), piece)
        parts.append(_LZ4_BLOCK(0))
        return b"".join(parts)

    return _exact(build, len(data), len(like))


def _pieces(data: bytes, splits: int) -> list[bytes]:
    """Return the pieces to store: at most `splits` of one byte, then larger ones."""
    ones = min(splits, len(data))
    starts = (*range(ones), *range(ones, len(data), _STORED))
    return [data[at : at + (1 if at < ones else _STORED)] for at in starts]


def _exact(build: Callable[[int, int], bytes], stop: int, size: int) -> bytes | None:
    """Return the result of `build` that has exactly `size` bytes, or None.

    `build` takes a cut in [0, stop] and a number of splits. The result gets smaller with a larger cut, except for a few
    bytes, and larger with each split.
    """
    for splits in range(min(_MOST_SPLITS, stop) + 1):
        if min(len(build(0, splits)), len(build(stop, splits))) > size:  # a few bytes are shortest without compression
            return None
        low = 0
        high = stop
        while low < high:
            middle = (low + high) // 2
            if len(build(middle, splits)) <= size:
                high = middle
            else:
                low = middle + 1
        near = range(max(low - _NEAR, 0), min(low + _NEAR, stop) + 1)
        for cut in sorted(near, key=lambda each: abs(each - low)):
            if len(candidate := build(cut, splits)) == size:
                return candidate
    return None


def _snappy(data: bytes, like: bytes, magic: int) -> bytes | None:  # noqa: ARG001 - as above
    import cramjam  # noqa: PLC0415 - start-up is a feature

    header = b""
    room = len(like)
    if like.startswith(declared.XERIAL_MAGIC):
        version = declared.XERIAL_VERSION
        header = declared.XERIAL_HEADER.build(
            {"magic": declared.XERIAL_MAGIC, "version": version, "compatible_version": version}
        )
        room -= len(header) + fixed(declared.XERIAL_CHUNK).size
    length = bytes(UVARINT.build(len(data)))

    def elements(cut: int) -> bytes:
        return bytes(cramjam.snappy.compress_raw(data[:cut]))[len(UVARINT.build(cut)) :] if cut else b""

    def build(cut: int, splits: int) -> bytes:
        # A literal of at most 60 bytes has a tag of one byte.
        literals = (bytes((len(piece) - 1 << 2,)) + piece for piece in _pieces(data[cut:], splits))
        return b"".join((length, elements(cut), *literals))

    block = _exact(build, len(data), room)
    if block is None:
        return None
    return header + (_XERIAL_CHUNK(len(block)) if header else b"") + block


_FITS: dict[int, Callable[[bytes, bytes, int], bytes | None]] = {1: _gzip, 2: _snappy, 3: _lz4, 4: _zstd}


# Replacements of names, values, ids and addresses: keyed hashes of equal length, so that equal values stay equal.
#
# A name is replaced by letters. Replacements of short names could collide, so they are kept in a table, and the next
# free one is taken. For longer names, a collision is unlikely.

LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
"""Five bits each. All of them are allowed in a topic's name, and unlikely to form a word that Kafka reserves."""


TOKEN = 32
"""Number of letters before they repeat. A long value has this many distinct letters, and is still compressible."""
DIFFERENT = (TOKEN, 8, 4, 2, 1, 0)
"""Numbers of distinct letters that are tried for the values of a compressed batch, until they fit."""
SHORT = 8
"""Maximum length in bytes of the names whose replacements are kept distinct by a table."""
MAX_SHORT = 1 << 18
"""Maximum number of short names in the table. Beyond it, replacements may collide."""
_ATTEMPTS = 64
_WELL_KNOWN_IDS = 128
"""Uuids below this number are reserved by Kafka: Uuid.ZERO_UUID, ONE_UUID, METADATA_TOPIC_ID, DirectoryId's."""
_NO_TEXT = b"\xff"
"""The first byte of the replacement of a string that is not UTF-8, which makes the replacement invalid UTF-8 too."""


class Replacement:
    """Replacements with a key. The same key gives the same results; by default the key is random."""

    def __init__(self, key: bytes | None = None) -> None:
        self.key = hashlib.blake2b(key if key is not None else secrets.token_bytes(32), digest_size=32).digest()
        self._given: dict[bytes, bytes] = {}
        self._taken: dict[bytes, bytes] = {}

    def text(self, data: bytes) -> bytes:
        """Return letters for a name. The replacement of invalid UTF-8 is invalid UTF-8."""
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return _NO_TEXT + self.letters(data)[1:]
        return self.letters(data)

    def letters(self, data: bytes, *, different: int = TOKEN) -> bytes:
        """Return letters for any bytes, with `different` distinct letters.

        Further letters repeat them. If `different` is less than TOKEN, further letters are all the same.
        """
        size = len(data)
        if different < TOKEN:
            return self._token(data, 0)[:different].ljust(size, b"x")[:size]
        if size > SHORT:
            token = self._token(data, 0)
            return (token * (size // TOKEN + 1))[:size]
        return self._short(data)

    def uuid(self, data: bytes) -> bytes:
        """Return 16 bytes for a uuid. Uuids with a meaning in Kafka are not changed."""
        return data if int.from_bytes(data) < _WELL_KNOWN_IDS else self.digest(b"uuid", data, len(data))

    def digest(self, what: bytes, data: bytes, size: int, attempt: int = 0) -> bytes:
        """Return at most 64 bytes for a value. `what` is the kind of the value."""
        return hashlib.blake2b(data, digest_size=size, key=self.key, person=what, salt=attempt.to_bytes(4)).digest()

    def distinct(self, data: bytes, taken: dict[bytes, bytes], make: Callable[[int], bytes]) -> bytes:
        """Return the first result of `make` that is different for each value. `taken` maps results to their values."""
        token = b""
        for attempt in range(_ATTEMPTS):
            token = make(attempt)
            if token != data and taken.setdefault(token, data) == data:
                break
        return token

    def _token(self, data: bytes, attempt: int) -> bytes:
        number = int.from_bytes(self.digest(b"name", data, TOKEN * 5 // 8, attempt))
        return "".join([LETTERS[number >> 5 * i & 31] for i in range(TOKEN)]).encode()

    def _short(self, data: bytes) -> bytes:
        if data in self._given:
            return self._given[data]
        if len(self._taken) >= MAX_SHORT:
            return self._token(data, 0)[: len(data)]
        token = self.distinct(data, self._taken, lambda attempt: self._token(data, attempt)[: len(data)])
        self._given[data] = token
        return token


# Values that identify no user and are kept: Kafka's own words, and fields that contain only such words. Everything else
# is replaced.

FEATURES = (
    "metadata.version", "kraft.version", "transaction.version", "group.version", "share.version", "streams.version",
    "eligible.leader.replicas.version",
)  # fmt: skip
"""The names of Kafka's features (MetadataVersion.FEATURE_NAME and the constants of
org.apache.kafka.server.common.Feature)."""


SOFTWARE = {"ApiVersionsRequest": frozenset({"clientSoftwareName", "clientSoftwareVersion"})}
"""Fields of a message, by path, that are kept if they look like the name or version of software."""
_SOFTWARE = re.compile(rb"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""Names of software that a broker accepts (KIP-511, ApiVersionsRequest.isValid)."""
_LONGEST_SOFTWARE = 64

WORDS = frozenset(
    word.encode()
    for word in (
        # Topics of Kafka itself, and what stands for any or the only resource.
        *OWN_TOPICS, "*", "kafka-cluster", "User", "ANONYMOUS", "User:ANONYMOUS", "User:*",
        # Security protocols and SASL mechanisms.
        "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL", "CONTROLLER", "BROKER",
        "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER", "AWS_MSK_IAM",
        # Types, protocols and states of groups and transactions.
        "consumer", "connect", "classic", "share", "streams", "stream", "sr",
        "range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "compatible", "sessioned", "default",
        "simple", "homogeneous",
        "Unknown", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling",
        "NotReady",
        "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "PrepareEpochFence",
        *FEATURES,
    )
)  # fmt: skip
"""Values that are kept in every string field."""


def stays(message: str, path: str, value: bytes) -> bool:
    """Return whether a string in a field of a message reveals nothing and is kept.

    `message` is empty if it is not certain that the string is in a message.
    """
    if value in WORDS:
        return True
    return (
        path in SOFTWARE.get(message, ()) and len(value) <= _LONGEST_SOFTWARE and _SOFTWARE.fullmatch(value) is not None
    )


# Addresses of machines. Each is replaced by an address of the same kind, the same one everywhere.

_PRIVATE4 = b"\x0a"
_PRIVATE6 = b"\xfd"
_LOCAL_MAC = b"\x02"
"""First bytes of the replacements: 10.0.0.0/8, fd00::/8 (unique local), and the bit of a locally administered MAC
address."""


_LOOPBACK4 = 127
_MULTICAST4 = range(224, 240)
_BROADCAST4 = b"\xff" * 4
_WELL_KNOWN6 = frozenset((bytes(16), bytes(15) + b"\x01"))
_MULTICAST6 = 0xFF
_MAPPED4 = bytes(10) + b"\xff\xff"
_GROUP_BIT = 1
_NO_MAC = bytes(6)


class Addresses:
    """Replacements of addresses. Loopback, any, multicast and broadcast addresses are not changed."""

    def __init__(self, replacement: Replacement) -> None:
        self._replacement = replacement
        self._known: dict[bytes, bytes] = {}
        self._taken: dict[bytes, bytes] = {}

    def ip(self, address: bytes) -> bytes:
        """Return the replacement of an address of 4 or 16 bytes, or the hash of an address of another length."""
        if len(address) == 4:
            return self._ip4(address)
        if address[:12] == _MAPPED4 and len(address) == 16:
            return _MAPPED4 + self._ip4(address[12:])
        if address in _WELL_KNOWN6 or not address or (len(address) == 16 and address[0] == _MULTICAST6):
            return address
        return self._replace(b"ip6", _PRIVATE6, address)

    def mac(self, address: bytes) -> bytes:
        """Return the replacement of a MAC address. A group address keeps its group bit; broadcast is not changed."""
        if address in {_NO_MAC, b"\xff" * 6}:
            return address
        first = bytes((_LOCAL_MAC[0] | address[0] & _GROUP_BIT,))
        return self._replace(b"mac", first, address)

    def _ip4(self, address: bytes) -> bytes:
        if address[0] in {0, _LOOPBACK4} or address[0] in _MULTICAST4 or address == _BROADCAST4:
            return address
        return self._replace(b"ip4", _PRIVATE4, address)

    def _replace(self, what: bytes, first: bytes, address: bytes) -> bytes:
        if len(address) < 2:  # a truncated address
            return bytes(len(address))
        if address not in self._known:
            digest = partial(self._replacement.digest, what, address, len(address) - 1)
            self._known[address] = first + self._replacement.distinct(address, self._taken, digest)
        return self._known[address]
