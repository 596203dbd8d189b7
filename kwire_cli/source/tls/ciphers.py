"""What opens the records of one direction under one key. The only module that imports the package cryptography, of the extra kwire[tls]."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

from kwire_cli.engine.fixed import fixed
from kwire_cli.source.tls.keys import expand_label, key_block, next_secret
from kwire_cli.structs.network.tls import ADDITIONAL_DATA, EXPLICIT_NONCE, INNER_TYPE, NONCE, RECORD, SALT, TAG

if TYPE_CHECKING:
    from kwire_cli.source.tls.records import Record
    from kwire_cli.source.tls.suites import Suite

_HEADER, _EXPLICIT, _NONCE, _SALT, _TAG = (layout.sizeof() for layout in (RECORD, EXPLICIT_NONCE, NONCE, SALT, TAG))
_ADDITIONAL = fixed(ADDITIONAL_DATA)


class Opened(NamedTuple):
    """A record's true type, and its text."""

    type: int
    text: bytes


class Cipher(Protocol):
    """A key of one direction. `around` are the bytes of a record that are not its text, header and all, where it is not padded."""

    around: int

    def open(self, record: Record, sequence: int) -> Opened | None:
        """What is in a record, if it is the one of this number under this key."""

    def updated(self) -> Cipher | None:
        """What comes after a KeyUpdate; None where there is no such thing."""


class Cipher13:
    """TLS 1.3: the keys of a traffic secret."""

    __slots__ = ("_aead", "_iv", "_secret", "around", "suite")

    def __init__(self, suite: Suite, secret: bytes) -> None:
        self.suite, self._secret = suite, secret
        self._aead = _aead(suite, expand_label(suite.digest, secret, "key", suite.key_size))
        self._iv = int.from_bytes(expand_label(suite.digest, secret, "iv", _NONCE))
        self.around = _HEADER + INNER_TYPE.sizeof() + _TAG

    def open(self, record: Record, sequence: int) -> Opened | None:
        """As `Cipher`; padding is left out."""
        text = _decrypted(self._aead, (self._iv ^ sequence).to_bytes(_NONCE), record.data, record.header)
        text = text.rstrip(b"\0") if text and not text[-1] else text
        return Opened(text[-1], text[:-1]) if text else None

    def updated(self) -> Cipher13:
        """As `Cipher`."""
        return Cipher13(self.suite, next_secret(self.suite.digest, self._secret))


class Cipher12:
    """TLS 1.2: a write key, and what is fixed of its nonces."""

    __slots__ = ("_aead", "_explicit", "_iv", "around")

    def __init__(self, suite: Suite, key: bytes, iv: bytes) -> None:
        self._aead = _aead(suite, key)
        self._iv = iv
        self._explicit = 0 if suite.is_chacha else _EXPLICIT
        self.around = _HEADER + self._explicit + _TAG

    def open(self, record: Record, sequence: int) -> Opened | None:
        """As `Cipher`."""
        size = len(record.data) - self._explicit - _TAG
        if size < 0:
            return None
        if self._explicit:
            nonce, data = self._iv + record.data[:_EXPLICIT], record.data[_EXPLICIT:]
        else:
            nonce, data = (int.from_bytes(self._iv) ^ sequence).to_bytes(_NONCE), record.data
        text = _decrypted(self._aead, nonce, data, _ADDITIONAL.pack(sequence, record.type, record.version, size))
        return None if text is None else Opened(record.type, text)

    def updated(self) -> None:
        """There are no key updates in TLS 1.2."""


def ciphers12(suite: Suite, master: bytes, server_random: bytes, client_random: bytes) -> tuple[Cipher12, Cipher12]:
    """The ciphers of client and server."""
    size = suite.key_size
    iv = _NONCE if suite.is_chacha else _SALT
    block = key_block(suite.digest, master, server_random, client_random, 2 * (size + iv))
    keys, ivs = block[: 2 * size], block[2 * size :]
    return Cipher12(suite, keys[:size], ivs[:iv]), Cipher12(suite, keys[size:], ivs[iv:])


def _aead(suite: Suite, key: bytes) -> AESGCM | ChaCha20Poly1305:
    return ChaCha20Poly1305(key) if suite.is_chacha else AESGCM(key)


def _decrypted(aead: AESGCM | ChaCha20Poly1305, nonce: bytes, data: bytes, additional: bytes) -> bytes | None:
    try:
        return aead.decrypt(nonce, data, additional)
    except InvalidTag:
        return None
