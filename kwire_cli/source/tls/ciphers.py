"""Cipher suites, key derivation, and decryption of single records.

Keys are derived from secrets by the key schedules of TLS 1.2 (RFC 5246, 5 and 6.3) and TLS 1.3 (RFC 8446, 7). Only AEAD
suites are supported, because their tag proves whether a key and a record number are right. This is the only module
that imports the package cryptography of the extra kwire[tls].
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

from kwire_cli.engine.fixed import fixed
from kwire_cli.structs.network import ADDITIONAL_DATA, EXPLICIT_NONCE, INNER_TYPE, LABEL, NONCE, RECORD, SALT, TAG

if TYPE_CHECKING:
    from kwire_cli.source.tls.records import Record


def expand_label(digest: str, secret: bytes, label: str, size: int) -> bytes:
    """Return HKDF-Expand-Label with an empty context: `size` bytes, at most one output of the hash."""
    info = LABEL.build({"length": size, "label": b"tls13 " + label.encode(), "context": b""})
    return hmac.digest(secret, info + b"\1", digest)[:size]


def next_secret(digest: str, secret: bytes) -> bytes:
    """Return the traffic secret after a KeyUpdate."""
    return expand_label(digest, secret, "traffic upd", hashlib.new(digest).digest_size)


def key_block(digest: str, master: bytes, server_random: bytes, client_random: bytes, size: int) -> bytes:
    """Return `size` bytes of the TLS 1.2 PRF over a master secret."""
    seed = b"key expansion" + server_random + client_random
    out = b""
    at = seed
    while len(out) < size:
        at = hmac.digest(master, at, digest)
        out += hmac.digest(master, at + seed, digest)
    return out[:size]


class Suite(NamedTuple):
    """A suite with an AEAD: its number, IANA's name, the size of its keys, and the hash of the key derivation."""

    number: int
    name: str
    key_size: int
    digest: str

    @property
    def is_chacha(self) -> bool:
        """Return whether the suite is ChaCha20-Poly1305. Any other suite is AES-GCM."""
        return "_CHACHA20_" in self.name


_NAMES = {
    0x1301: "TLS_AES_128_GCM_SHA256",
    0x1302: "TLS_AES_256_GCM_SHA384",
    0x1303: "TLS_CHACHA20_POLY1305_SHA256",
    0x009C: "TLS_RSA_WITH_AES_128_GCM_SHA256",
    0x009D: "TLS_RSA_WITH_AES_256_GCM_SHA384",
    0x009E: "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256",
    0x009F: "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384",
    0xC02B: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    0xC02C: "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    0xC02F: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    0xC030: "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    0xCCA8: "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    0xCCA9: "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    0xCCAA: "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
}
_SIZES = {
    "AES_128_GCM_SHA256": (16, "sha256"),
    "AES_256_GCM_SHA384": (32, "sha384"),
    "CHACHA20_POLY1305_SHA256": (32, "sha256"),
}


def _suite(number: int, name: str) -> Suite:
    key_size, digest = next(sizes for ending, sizes in _SIZES.items() if name.endswith(ending))
    return Suite(number, name, key_size, digest)


SUITES = {number: _suite(number, name) for number, name in _NAMES.items()}
"""Cipher suites that can be decrypted, by number."""
OF_TLS_1_3 = tuple(suite for suite in SUITES.values() if suite.number >> 8 == 0x13)


def suite_name(number: int) -> str:
    """Return IANA's name of a suite, or its number if the name is unknown."""
    return _NAMES.get(number) or f"suite 0x{number:04x}"


_HEADER, _EXPLICIT, _NONCE, _SALT, _TAG = (layout.sizeof() for layout in (RECORD, EXPLICIT_NONCE, NONCE, SALT, TAG))


_ADDITIONAL = fixed(ADDITIONAL_DATA)


class Opened(NamedTuple):
    """The decrypted content type and plaintext of a record."""

    type: int
    text: bytes


class Cipher(Protocol):
    """A key of one direction. `around` is the number of bytes of a record that are not plaintext: header, nonce and
    tag, without padding.
    """

    around: int

    def open(self, record: Record, sequence: int) -> Opened | None:
        """Return the content of a record, or None if it is not record `sequence` under this key."""

    def updated(self) -> Cipher | None:
        """Return the cipher after a KeyUpdate, or None if the TLS version has no key updates."""


class Cipher13:
    """The keys of a TLS 1.3 traffic secret."""

    __slots__ = ("_aead", "_iv", "_secret", "around", "suite")

    def __init__(self, suite: Suite, secret: bytes) -> None:
        self.suite = suite
        self._secret = secret
        self._aead = _aead(suite, expand_label(suite.digest, secret, "key", suite.key_size))
        self._iv = int.from_bytes(expand_label(suite.digest, secret, "iv", _NONCE))
        self.around = _HEADER + INNER_TYPE.sizeof() + _TAG

    def __reduce__(self) -> tuple[type[Cipher13], tuple[Suite, bytes]]:
        """Return the constructor with its arguments, for pickle."""
        return Cipher13, (self.suite, self._secret)

    def open(self, record: Record, sequence: int) -> Opened | None:
        """Return the content of a record without padding, or None if it is not record `sequence` under this key."""
        text = _decrypted(self._aead, (self._iv ^ sequence).to_bytes(_NONCE), record.data, record.header)
        text = text.rstrip(b"\0") if text and not text[-1] else text
        return Opened(text[-1], text[:-1]) if text else None

    def updated(self) -> Cipher13:
        """Return the cipher after a KeyUpdate."""
        return Cipher13(self.suite, next_secret(self.suite.digest, self._secret))


class Cipher12:
    """A TLS 1.2 write key, with the fixed part of its nonces."""

    __slots__ = ("_aead", "_explicit", "_iv", "_key", "around", "suite")

    def __init__(self, suite: Suite, key: bytes, iv: bytes) -> None:
        self._aead = _aead(suite, key)
        self.suite = suite
        self._key = key
        self._iv = iv
        self._explicit = 0 if suite.is_chacha else _EXPLICIT
        self.around = _HEADER + self._explicit + _TAG

    def __reduce__(self) -> tuple[type[Cipher12], tuple[Suite, bytes, bytes]]:
        """Return the constructor with its arguments, for pickle."""
        return Cipher12, (self.suite, self._key, self._iv)

    def open(self, record: Record, sequence: int) -> Opened | None:
        """Return the content of a record, or None if it is not record `sequence` under this key."""
        size = len(record.data) - self._explicit - _TAG
        if size < 0:
            return None
        if self._explicit:
            nonce = self._iv + record.data[:_EXPLICIT]
            data = record.data[_EXPLICIT:]
        else:
            nonce = (int.from_bytes(self._iv) ^ sequence).to_bytes(_NONCE)
            data = record.data
        text = _decrypted(self._aead, nonce, data, _ADDITIONAL.pack(sequence, record.type, record.version, size))
        return None if text is None else Opened(record.type, text)

    def updated(self) -> None:
        """Return None: TLS 1.2 has no key updates."""


def ciphers12(suite: Suite, master: bytes, server_random: bytes, client_random: bytes) -> tuple[Cipher12, Cipher12]:
    """Return the ciphers of client and server."""
    size = suite.key_size
    iv = _NONCE if suite.is_chacha else _SALT
    block = key_block(suite.digest, master, server_random, client_random, 2 * (size + iv))
    keys = block[: 2 * size]
    ivs = block[2 * size :]
    return Cipher12(suite, keys[:size], ivs[:iv]), Cipher12(suite, keys[size:], ivs[iv:])


def _aead(suite: Suite, key: bytes) -> AESGCM | ChaCha20Poly1305:
    return ChaCha20Poly1305(key) if suite.is_chacha else AESGCM(key)


def _decrypted(aead: AESGCM | ChaCha20Poly1305, nonce: bytes, data: bytes, additional: bytes) -> bytes | None:
    try:
        return aead.decrypt(nonce, data, additional)
    except InvalidTag:
        return None
