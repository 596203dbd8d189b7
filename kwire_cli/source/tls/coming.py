"""What the hellos of a connection say of its keys, and the keys that a key log has for them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from kwire_cli.source.tls import keylog
from kwire_cli.source.tls.ciphers import Cipher, Cipher13, ciphers12
from kwire_cli.source.tls.handshake import ClientHello, ServerHello, client_hello, server_hello
from kwire_cli.source.tls.suites import OF_TLS_1_3, SUITES, suite_name
from kwire_cli.structs.network import tls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.source.tls.keylog import KeyLog


class Coming:
    """The keys of one connection, in the order in which they are used. `refused` says why nothing can be decrypted, where that is so."""

    __slots__ = ("_answered", "_asked", "_client", "_found", "_keys", "_retried", "refused")

    def __init__(self, keys: KeyLog) -> None:
        self._keys = keys
        self._client = 0
        self._asked: ClientHello | None = None
        self._answered: ServerHello | None = None
        self._found: tuple[set[str], set[str]] = (set(), set())  # labels whose keys were given, by side
        self._retried = False
        self.refused: str | None = None

    @property
    def version(self) -> int | None:
        """The version that was agreed on, as tls.VERSIONS has it; None before that is known."""
        return self._answered.version if self._answered else None

    @property
    def is_1_3(self) -> bool:
        """Whether it is TLS 1.3, as far as that is known: then a ChangeCipherSpec means nothing."""
        return self.version == tls.TLS_1_3 or self._retried or bool(self._asked and self._asked.early_data and not self._answered)

    def asked(self, side: int, body: bytes | None) -> str | None:
        """A ClientHello came from a side; what it says, in words."""
        hello = client_hello(body) if body else None
        if hello is None:
            self.refused = "the ClientHello cannot be read"
            return None
        self._asked, self._client = hello, side
        self._forget()
        return "ClientHello with early data" if hello.early_data else "ClientHello"

    def answered(self, body: bytes | None) -> str | None:
        """A ServerHello came; what it says, in words."""
        hello = server_hello(body) if body else None
        if hello is None:
            self.refused = "the ServerHello cannot be read"
            return None
        if hello.retries:
            self._retried = True
            return "HelloRetryRequest"
        self._answered = hello
        self._forget()
        suite, version = suite_name(hello.suite), tls.VERSIONS.get(hello.version, f"version 0x{hello.version:04x}")
        if self._asked is None:
            self.refused = "the ClientHello is not in the capture"
        elif hello.version not in {tls.TLS_1_2, tls.TLS_1_3}:
            self.refused = f"{version} is not supported: TLS 1.2 and 1.3 are"
        elif hello.suite not in SUITES or (SUITES[hello.suite] in OF_TLS_1_3) != (hello.version == tls.TLS_1_3):
            self.refused = f"{suite} is not supported: suites with AES-GCM and ChaCha20-Poly1305 are"
        elif hello.compressed:
            self.refused = "compression is not supported"
        resumed = self._asked and (hello.preshared or (hello.version == tls.TLS_1_2 and hello.session_id == self._asked.session_id != b""))
        return f"ServerHello {version} {suite}{' resumed' if resumed else ''}"

    def _forget(self) -> None:
        for found in self._found:
            found.clear()

    def ciphers(self, side: int) -> Iterator[Cipher]:
        """The keys of a side that the key log has by now, without those that were given already."""
        if self._asked is None or self.refused:
            return
        for label in self._labels(side):
            if label not in self._found[side] and (secret := self._keys.find(label, self._asked.random)):
                self._found[side].add(label)
                yield from self._of_secret(label, secret, side)

    def _labels(self, side: int) -> tuple[str, ...]:
        is_server = side != self._client
        if self.version == tls.TLS_1_2:
            return (keylog.MASTER,)
        early = (keylog.EARLY,) if self._asked and self._asked.early_data and not is_server else ()
        return *early, keylog.HANDSHAKE[is_server], keylog.TRAFFIC[is_server]

    def _of_secret(self, label: str, secret: bytes, side: int) -> Iterator[Cipher]:
        """One key; where the suite is not known, one of each that it may be."""
        if label == keylog.MASTER:
            if self._asked and self._answered:
                yield ciphers12(SUITES[self._answered.suite], secret, self._answered.random, self._asked.random)[side != self._client]
            return
        for suite in (SUITES[self._answered.suite],) if self._answered else OF_TLS_1_3:
            if hashlib.new(suite.digest).digest_size == len(secret):
                yield Cipher13(suite, secret)

    def lacking(self, side: int, *, waits: bool) -> str | None:
        """Which keys of a side are not known, and why; None where all are, or it `waits` for none."""
        if self._asked is None:
            return "the ClientHello is not in the capture"
        if not self._answered and self._keys.find(keylog.MASTER, self._asked.random):
            return "the ServerHello is not in the capture"
        if lacking := [label for label in self._labels(side) if label not in self._found[side]] if waits else []:
            without = "" if self._answered else ", and the ServerHello is not in the capture"
            return f"the key log has no {' or '.join(lacking)} for client random {self._asked.random.hex()}{without}"
        return None
