"""Replacements of names, values and addresses, at equal length, and fillings that say nothing."""

from __future__ import annotations

import hashlib
import re
import secrets
import zlib
from itertools import count
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.fixed import fixed
from kwire_cli.records.block_codecs import header_checksums
from kwire_cli.records.kafka_topics import OWN_TOPICS
from kwire_cli.structs import compression as declared
from kwire_cli.structs.numbers import UVARINT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# Fillings: bytes that say nothing, in place of bytes that could not be read. Reading stops at them for the
# same reason.

NOTHING = b"\xff"
"""Repeated: no size of a frame or batch, no api, and a varint that does not end."""


VARINT_BEYOND = b"\xfe\xff\xff\xff\x0f"
"""The zigzag varint of the largest length, which ends behind all bytes."""
COMPACT_BEYOND = b"\xff\xff\xff\xff\x07"
"""The same as an unsigned varint."""
STRING_BEYOND = b"\xff\xff\x01"
"""The unsigned varint of the largest length of a compact string that is not too long."""
BEYOND = b"\x7f\xff\xff\xff"
"""The same as an int32, and as an int16."""


MAX_ZEROS = 16
"""Zeros before a length beyond the end. They are read as numbers and empty strings: as no error, as no throttling."""


def fillings(size: int) -> Iterator[bytes]:
    """Yield fillings of this size, in the order in which they are tried."""
    for zeros in range(min(size, MAX_ZEROS) + 1):
        for beyond in (BEYOND, STRING_BEYOND, COMPACT_BEYOND, VARINT_BEYOND):
            yield (bytes(zeros) + beyond)[:size].ljust(size, b"\0")
    for byte in (b"\0", BEYOND[:1], NOTHING):
        yield byte * size


# Compressed bytes of a wanted size: what is put in the place of others has to be as long as these.
#
# Each format has something that costs bytes and says nothing: a name in gzip's header, empty blocks in zstd.
# In lz4 and snappy the end of the data is stored as it is, as much of it as makes the size right. All of it
# is what readers of these formats, Kafka's too, take.

_LZ4_BLOCK, _XERIAL_CHUNK = fixed(declared.LZ4_BLOCK).pack, fixed(declared.XERIAL_CHUNK).pack


_NEAR = 48
"""Places around the likely one that are tried."""
_MOST_SPLITS = 24
_STORED = 24
"""Bytes that are stored in a piece: fewer than any message has, so that none of those that were packed stands there as
it is."""
_ZSTD_LEVEL, _GZIP_LEVEL = 12, 9
_SMALL_BLOCK, _LARGE_BLOCK = 4, 7


def fitted(codec: int, data: bytes, like: bytes, *, magic: int = 2) -> bytes | None:
    """The data compressed to as many bytes as `like`, which is some in the same codec; None where that can't be done.

    Args:
        codec: As in CODECS.
        data: What is to be compressed.
        like: What stood there.
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

    def made(cut: int, splits: int) -> bytes:
        packed = lz4.block.compress(data[:cut], store_size=False) if cut else b""
        parts = [header]
        if cut:
            parts += (_LZ4_BLOCK(len(packed)), packed)
        for piece in _pieces(data[cut:], splits):
            parts += (_LZ4_BLOCK(len(piece) | declared.LZ4_STORED), piece)
        parts.append(_LZ4_BLOCK(0))
        return b"".join(parts)

    return _exact(made, len(data), len(like))


def _pieces(data: bytes, splits: int) -> list[bytes]:
    """Return the pieces that are stored: at most `splits` of one byte, then larger ones."""
    ones = min(splits, len(data))
    starts = (*range(ones), *range(ones, len(data), _STORED))
    return [data[at : at + (1 if at < ones else _STORED)] for at in starts]


def _exact(made: Callable[[int, int], bytes], stop: int, size: int) -> bytes | None:
    """Return the result of `made` that has exactly `size` bytes, or None.

    `made` takes a cut in [0, stop] and a number of splits. The result gets smaller as the cut moves on, except for a
    few bytes, and larger with each split.
    """
    for splits in range(min(_MOST_SPLITS, stop) + 1):
        if min(len(made(0, splits)), len(made(stop, splits))) > size:  # of a few bytes what is stored is the shortest
            return None
        low, high = 0, stop
        while low < high:
            middle = (low + high) // 2
            if len(made(middle, splits)) <= size:
                high = middle
            else:
                low = middle + 1
        near = range(max(low - _NEAR, 0), min(low + _NEAR, stop) + 1)
        for cut in sorted(near, key=lambda each: abs(each - low)):
            if len(candidate := made(cut, splits)) == size:
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

    def made(cut: int, splits: int) -> bytes:
        # A literal of at most 60 bytes has a tag of one byte.
        literals = (bytes((len(piece) - 1 << 2,)) + piece for piece in _pieces(data[cut:], splits))
        return b"".join((length, elements(cut), *literals))

    block = _exact(made, len(data), room)
    if block is None:
        return None
    return header + (_XERIAL_CHUNK(len(block)) if header else b"") + block


_FITS: dict[int, Callable[[bytes, bytes, int], bytes | None]] = {1: _gzip, 2: _snappy, 3: _lz4, 4: _zstd}


# What stands for a name, a value, an id or an address: by a keyed hash, so that equal ones stay equal, at
# equal length.
#
# A name is replaced by letters. Short ones could meet each other, so those that were given out are kept, and
# the next free one is taken; of longer ones chance sees to it.

LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
"""Five bits each; all of them are allowed in a topic's name, and no word that Kafka reserves is likely among them."""


TOKEN = 32
"""Letters before they come again: a long value has as many that differ, and is still compressible."""
DIFFERENT = (TOKEN, 8, 4, 2, 1, 0)
"""Letters that the values of a compressed batch may have before they repeat; fewer where more do not fit."""
SHORT = 8
"""Names up to this length, in bytes, are kept apart by a table."""
MOST_SHORT = 1 << 18
"""Short names that are kept; of more, some could meet."""
_ATTEMPTS = 64
_WELL_KNOWN_IDS = 128
"""Uuids below this number are Kafka's own: Uuid.ZERO_UUID, ONE_UUID, METADATA_TOPIC_ID, DirectoryId's."""
_NO_TEXT = b"\xff"
"""What begins the replacement of a text that is no UTF-8, which that then is not either."""


class Replacement:
    """A key, and what was given out. The same key gives the same results; `key` is a random one unless it is said."""

    def __init__(self, key: bytes | None = None) -> None:
        self.key = hashlib.blake2b(key if key is not None else secrets.token_bytes(32), digest_size=32).digest()
        self._given: dict[bytes, bytes] = {}
        self._taken: dict[bytes, bytes] = {}

    def text(self, data: bytes) -> bytes:
        """Letters for a name; of bytes that are no UTF-8, something that is none either."""
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return _NO_TEXT + self.letters(data)[1:]
        return self.letters(data)

    def letters(self, data: bytes, *, different: int = TOKEN) -> bytes:
        """Letters for any bytes. Of these so many are chosen, the others repeat them, or are all the same where it is
        fewer than TOKEN.
        """
        size = len(data)
        if different < TOKEN:
            return self._token(data, 0)[:different].ljust(size, b"x")[:size]
        if size > SHORT:
            token = self._token(data, 0)
            return (token * (size // TOKEN + 1))[:size]
        return self._short(data)

    def uuid(self, data: bytes) -> bytes:
        """16 bytes for 16, but for those that stand for something in Kafka."""
        return data if int.from_bytes(data) < _WELL_KNOWN_IDS else self.digest(b"uuid", data, len(data))

    def digest(self, what: bytes, data: bytes, size: int, attempt: int = 0) -> bytes:
        """At most 64 bytes for a value of some kind."""
        return hashlib.blake2b(data, digest_size=size, key=self.key, person=what, salt=attempt.to_bytes(4)).digest()

    def apart(self, what: bytes, data: bytes, size: int, taken: dict[bytes, bytes]) -> bytes:
        """As `digest`, but for no two values the same: `taken` are those that were given out, and for what."""
        for attempt in count():
            token = self.digest(what, data, size, attempt)
            if attempt == _ATTEMPTS or taken.setdefault(token, data) == data:
                return token
        raise AssertionError

    def _token(self, data: bytes, attempt: int) -> bytes:
        number = int.from_bytes(self.digest(b"name", data, TOKEN * 5 // 8, attempt))
        return "".join([LETTERS[number >> 5 * i & 31] for i in range(TOKEN)]).encode()

    def _short(self, data: bytes) -> bytes:
        token = self._given.get(data)
        if token is None:
            for attempt in range(_ATTEMPTS):
                token = self._token(data, attempt)[: len(data)]
                if len(self._taken) >= MOST_SHORT or (token != data and self._taken.setdefault(token, data) == data):
                    break
            assert token is not None  # noqa: S101 - for the type checker
            if len(self._given) < MOST_SHORT:
                self._given[data] = token
        return token


# What says nothing of whoever's traffic it is, and stays: Kafka's own words, and fields that hold nothing
# else. Everything else is replaced.

FEATURES = (
    "metadata.version", "kraft.version", "transaction.version", "group.version", "share.version", "streams.version",
    "eligible.leader.replicas.version",
)  # fmt: skip
"""What Kafka calls its features (MetadataVersion.FEATURE_NAME and the constants of
org.apache.kafka.server.common.Feature)."""


SOFTWARE = {"ApiVersionsRequest": frozenset({"clientSoftwareName", "clientSoftwareVersion"})}
"""Fields of a message, by path, that stay if they look like the name or version of software."""
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
"""Values that stay in whatever field of text they stand."""


def stays(message: str, path: str, value: bytes) -> bool:
    """Return whether a text in a field of a message reveals nothing, and stays.

    `message` is empty if it is not certain that the text is in a message.
    """
    if value in WORDS:
        return True
    return (
        path in SOFTWARE.get(message, ()) and len(value) <= _LONGEST_SOFTWARE and _SOFTWARE.fullmatch(value) is not None
    )


# Addresses of machines: others in their place, that are of the same kind and stand for the same one
# everywhere.

_PRIVATE4, _PRIVATE6, _LOCAL_MAC = b"\x0a", b"\xfd", b"\x02"
"""What the new ones begin with: 10.0.0.0/8, fd00::/8 (unique local), and the bit of a MAC address that somebody made
up."""


_LOOPBACK4 = 127
_MULTICAST4, _BROADCAST4 = range(224, 240), b"\xff" * 4
_WELL_KNOWN6 = frozenset((bytes(16), bytes(15) + b"\x01"))
_MULTICAST6 = 0xFF
_MAPPED4 = bytes(10) + b"\xff\xff"
_GROUP_BIT = 1
_NO_MAC = bytes(6)


class Addresses:
    """The replacements of addresses that were given out.

    Loopback, any, multicast and broadcast addresses stay unchanged.
    """

    def __init__(self, replacement: Replacement) -> None:
        self._replacement = replacement
        self._known: dict[bytes, bytes] = {}
        self._taken: dict[bytes, bytes] = {}

    def ip(self, address: bytes) -> bytes:
        """4 or 16 bytes of an address; of any other length as many that are hashed."""
        if len(address) == 4:
            return self._ip4(address)
        if address[:12] == _MAPPED4 and len(address) == 16:
            return _MAPPED4 + self._ip4(address[12:])
        if address in _WELL_KNOWN6 or not address or (len(address) == 16 and address[0] == _MULTICAST6):
            return address
        return self._made(b"ip6", _PRIVATE6, address)

    def mac(self, address: bytes) -> bytes:
        """6 bytes; of a group's address only what says that it is one stays, unless it is that of all."""
        if address in {_NO_MAC, b"\xff" * 6}:
            return address
        first = bytes((_LOCAL_MAC[0] | address[0] & _GROUP_BIT,))
        return self._made(b"mac", first, address)

    def _ip4(self, address: bytes) -> bytes:
        if address[0] in {0, _LOOPBACK4} or address[0] in _MULTICAST4 or address == _BROADCAST4:
            return address
        return self._made(b"ip4", _PRIVATE4, address)

    def _made(self, what: bytes, first: bytes, address: bytes) -> bytes:
        if len(address) < 2:  # of one that was cut
            return bytes(len(address))
        substitute = self._known.get(address)
        if substitute is None:
            substitute = self._known[address] = first + self._replacement.apart(
                what, address, len(address) - 1, self._taken
            )
        return substitute
