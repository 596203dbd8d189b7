"""A TLS session: takes the bytes of both directions, and returns the plaintext and events for everything else.

It performs no I/O, in the manner of h11. The hellos determine which keys exist: the ClientHello has the client random
by which a key log lists its secrets, the ServerHello the suite and the version.

States of a direction:

- plain: records are not encrypted, until its ChangeCipherSpec (TLS 1.2) or its first record of application data
  (TLS 1.3).
- encrypted, with a key: `cipher` decrypts records, which `sequence` counts. KeyUpdate derives the next key.
- encrypted, without a key: `cipher` is None after ChangeCipherSpec and Finished. The next record is the
  first one under a key of `coming`.

Rules:

- A record that the current key does not decrypt is tried as the first record of each following key. So bytes or secrets
  that are missing cost only the records that need them.
- A record that no key decrypts is counted, and the next record has the next number.
- After a loss the number of lost records is unknown. All numbers that fit into the lost bytes are tried, and the number
  that decrypts a record is its number.
- Data that are lost or cannot be decrypted become a gap. Its size is exact unless the records were padded.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.source.packets.model import Data, Event, Gap
from kwire_cli.source.tls import keylog
from kwire_cli.source.tls.ciphers import OF_TLS_1_3, SUITES, Cipher, Cipher13, ciphers12, suite_name
from kwire_cli.source.tls.records import (
    ClientHello,
    Lost,
    Message,
    Messages,
    Record,
    Records,
    ServerHello,
    alert_name,
    client_hello,
    message_name,
    server_hello,
)
from kwire_cli.source.tls.scheduler import Place, Turns
from kwire_cli.structs import network

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.source.tls.ciphers import Opened
    from kwire_cli.source.tls.keylog import KeyLog


@dataclass(slots=True, eq=False, repr=False)
class Side:
    """One direction of a TLS connection.

    Attributes:
        spoken: Whether it has sent data.
        doubtful: Whether bytes are missing that may have changed its keys.
        updated: The key after `cipher`, derived when first needed.

    """

    number: int
    records: Records = field(default_factory=Records)
    messages: Messages = field(default_factory=Messages)
    encrypted: bool = False
    spoken: bool = False
    doubtful: bool = False
    cipher: Cipher | None = None
    updated: Cipher | None = None
    sequence: int = 0
    passed: int = 0
    failed: int = 0
    coming: list[Cipher] = field(default_factory=list)
    given_up: str | None = None

    def turn(self, cipher: Cipher | None = None) -> None:
        """Switch to another key, or to an unknown key if `cipher` is None. The next record is its first."""
        self.cipher = cipher
        self.updated = None
        self.sequence = 0
        self.encrypted = True

    def next_keys(self) -> list[Cipher]:
        """Return the keys that may be next."""
        if self.cipher and not self.updated:
            self.updated = self.cipher.updated()
        return [self.updated, *self.coming] if self.updated else self.coming


@dataclass(slots=True, eq=False, repr=False)
class KeySchedule:
    """The keys of one connection, in the order in which they are used.

    `refused` is the reason why nothing can be decrypted, or None. `_used_labels` has the labels whose keys were
    returned, by direction.
    """

    _keys: KeyLog
    _client: int = 0
    _client_hello: ClientHello | None = None
    _server_hello: ServerHello | None = None
    _used_labels: tuple[set[str], set[str]] = field(default_factory=lambda: (set(), set()))
    _retried: bool = False
    refused: str | None = None

    @property
    def version(self) -> int | None:
        """The negotiated version, a key of VERSIONS; None before the ServerHello."""
        return self._server_hello.version if self._server_hello else None

    @property
    def is_1_3(self) -> bool:
        """Return whether the connection is TLS 1.3, according to the hellos so far.

        In TLS 1.3 a ChangeCipherSpec has no effect.
        """
        return self.version == network.TLS_1_3 or self._retried

    def on_client_hello(self, side: int, body: bytes | None) -> str | None:
        """Process a ClientHello from a side. Return its description."""
        hello = client_hello(body) if body else None
        if hello is None:
            self.refused = "the ClientHello cannot be read"
            return None
        self._client_hello = hello
        self._client = side
        self._forget()
        return "ClientHello"

    def on_server_hello(self, body: bytes | None) -> str | None:
        """Process a ServerHello. Return its description."""
        hello = server_hello(body) if body else None
        if hello is None:
            self.refused = "the ServerHello cannot be read"
            return None
        if hello.retries:
            self._retried = True
            return "HelloRetryRequest"
        self._server_hello = hello
        self._forget()
        suite = suite_name(hello.suite)
        version = network.VERSIONS.get(hello.version, f"version 0x{hello.version:04x}")
        if self._client_hello is None:
            self.refused = "the ClientHello is not in the capture"
        elif hello.version not in {network.TLS_1_2, network.TLS_1_3}:
            self.refused = f"{version} is not supported: TLS 1.2 and 1.3 are"
        elif hello.suite not in SUITES or (SUITES[hello.suite] in OF_TLS_1_3) != (hello.version == network.TLS_1_3):
            self.refused = f"{suite} is not supported: suites with AES-GCM and ChaCha20-Poly1305 are"
        elif hello.compressed:
            self.refused = "compression is not supported"
        resumed = self._client_hello and (
            hello.preshared
            or (hello.version == network.TLS_1_2 and hello.session_id == self._client_hello.session_id != b"")
        )
        return f"ServerHello {version} {suite}{' resumed' if resumed else ''}"

    def _forget(self) -> None:
        for labels in self._used_labels:
            labels.clear()

    def ciphers(self, side: int) -> Iterator[Cipher]:
        """Yield the keys of a side that the key log contains and that were not yielded before."""
        if self._client_hello is None or self.refused:
            return
        for label in self._labels(side):
            if label not in self._used_labels[side] and (secret := self._keys.find(label, self._client_hello.random)):
                self._used_labels[side].add(label)
                yield from self._ciphers_from_secret(label, secret, side)

    def _labels(self, side: int) -> tuple[str, ...]:
        is_server = side != self._client
        if self.version == network.TLS_1_2:
            return (keylog.MASTER,)
        return keylog.HANDSHAKE[is_server], keylog.TRAFFIC[is_server]

    def _ciphers_from_secret(self, label: str, secret: bytes, side: int) -> Iterator[Cipher]:
        """Yield the key of a secret. If the suite is unknown, yield one key for each possible suite."""
        if label == keylog.MASTER:
            if self._client_hello and self._server_hello:
                pair = ciphers12(
                    SUITES[self._server_hello.suite], secret, self._server_hello.random, self._client_hello.random
                )
                yield pair[side != self._client]
            return
        suites = (SUITES[self._server_hello.suite],) if self._server_hello else OF_TLS_1_3
        for suite in suites:
            if hashlib.new(suite.digest).digest_size == len(secret):
                yield Cipher13(suite, secret)

    def lacking(self, side: int, *, waits: bool) -> str | None:
        """Return which keys of a side are missing and why, or None if none are.

        A key that the key log lacks counts only if the side `waits` for a key.
        """
        if self._client_hello is None:
            return "the ClientHello is not in the capture"
        if not self._server_hello and self._keys.find(keylog.MASTER, self._client_hello.random):
            return "the ServerHello is not in the capture"
        if not waits:
            return None
        lacking = [label for label in self._labels(side) if label not in self._used_labels[side]]
        if lacking:
            without = "" if self._server_hello else ", and the ServerHello is not in the capture"
            client_random = self._client_hello.random.hex()
            return f"the key log has no {' or '.join(lacking)} for client random {client_random}{without}"
        return None


MOST_TRIED = 1024
"""Maximum number of record numbers tried after a loss."""


MOST_PASSED = 8
"""Undecryptable records after a loss before decryption of this direction stops."""
MOST_FAILED = 64
"""Undecryptable records in a row, after a decrypted one, before decryption of this direction stops."""
MISSING = "bytes of it are missing"


class Session:
    """One TLS connection. `connection` is its number in events."""

    def __init__(self, connection: int, keys: KeyLog) -> None:
        self._connection = connection
        self._sides = Side(0), Side(1)
        self._tls_events = Turns(connection)
        self._hellos = KeySchedule(keys)
        self._events: list[Event] = []
        self._place = Place(None, 0)

    def feed(self, direction: int, data: bytes, time: int | None, packet: int) -> list[Event]:
        """Process the next bytes of a direction. Return the resulting events."""
        self._place = Place(time, packet)
        side = self._sides[direction]
        if reason := side.given_up or self._hellos.refused:
            self._emit(side, len(data), reason=reason)
        else:
            side.records.feed(data)
            self._process_records(side)
        return self._pop_events()

    def lose(self, direction: int, count: int, time: int | None, packet: int) -> list[Event]:
        """Process the loss of a direction's next bytes. Return the resulting events."""
        self._place = Place(time, packet)
        side = self._sides[direction]
        if side.given_up or self._hellos.refused:
            self._gap(side, count)
        else:
            side.records.lose(count)
            self._process_records(side)
        return self._pop_events()

    def end(self) -> list[Event]:
        """Return the remaining events at the end of the connection."""
        for side in self._sides:
            if left := side.records.left:
                self._emit(side, left, reason=MISSING if side.records.searching else "a record is not whole")
        self._events += self._tls_events.close()
        return self._pop_events()

    def _pop_events(self) -> list[Event]:
        events = self._events
        self._events = []
        return events

    # Events

    def _emit(self, side: Side, size: int, content: str | None = None, reason: str | None = None) -> None:
        self._events += self._tls_events.add(side.number, size, self._place, content, reason)

    def _gap(self, side: Side, size: int) -> None:
        self._events += self._tls_events.end()
        self._events.append(Gap(self._connection, side.number, size, *self._place))

    def _data(self, side: Side, record: Record, text: bytes) -> None:
        self._tls_events.around(side.number, record.size - len(text), self._place)
        side.spoken = True
        if text:
            self._events += self._tls_events.end()
            self._events.append(Data(self._connection, side.number, text, *self._place))

    # Records

    def _process_records(self, side: Side) -> None:
        """Process all complete records."""
        while (record := side.records.next()) is not None:
            if isinstance(record, Lost):
                self._emit_lost(side, record.size, 1)
                side.sequence += 1
            elif not side.records.searching:
                self._record(side, record)
            elif not self._accept_after_loss(side, record):
                side.records.passed()
                side.passed += 1
            if side.given_up:
                return
            if self._hellos.refused or side.passed > MOST_PASSED:
                self._give_up(side, self._hellos.refused or "no record opens behind bytes that are missing")
                return
        if side.records.broken:
            self._give_up(side, f"byte {side.records.position} of this side begins no record")

    def _give_up(self, side: Side, reason: str) -> None:
        left = side.records.left
        side.given_up = reason
        side.records = Records()
        self._emit(side, left, reason=reason)

    def _record(self, side: Side, record: Record) -> None:
        if self._is_plain(side, record):
            self._plain(side, record.type, record.data, record.size)
            return
        opened = self._open(side, record)
        side.sequence += 1
        if opened:
            self._opened(side, record, opened)
            return
        reason = (
            self._hellos.lacking(side.number, waits=not side.cipher)
            or f"bad record MAC at record {side.sequence} under this key"
        )
        if side.spoken and side.cipher:
            self._emit(side, min(side.cipher.around, record.size), reason=reason)
            self._gap(side, max(record.size - side.cipher.around, 0))
        else:
            self._emit(side, record.size, reason=reason)
        side.failed += bool(side.cipher)
        if side.failed > MOST_FAILED:
            self._give_up(side, reason)

    def _is_plain(self, side: Side, record: Record) -> bool:
        if record.type == network.APPLICATION_DATA:
            return False
        if not side.encrypted and side.doubtful:
            self._seek(side)
            return not any(cipher.open(record, 0) for cipher in side.coming)
        return not side.encrypted or self._hellos.is_1_3

    def _open(self, side: Side, record: Record) -> Opened | None:
        if side.cipher and (opened := side.cipher.open(record, side.sequence)):
            return opened
        self._seek(side)
        for cipher in side.next_keys():
            for sequence in {0, side.sequence}:
                if opened := cipher.open(record, sequence):
                    self._turn_to(side, cipher, sequence)
                    return opened
        return None

    def _seek(self, side: Side) -> None:
        side.coming += self._hellos.ciphers(side.number)

    def _turn_to(self, side: Side, cipher: Cipher, sequence: int) -> None:
        """Switch to a key that decrypted a record, instead of the current key."""
        if cipher in side.coming:
            del side.coming[: side.coming.index(cipher) + 1]
        side.turn(cipher)
        side.sequence = sequence
        side.messages.restart()

    def _opened(self, side: Side, record: Record, opened: Opened) -> None:
        side.doubtful = False
        side.failed = 0
        if opened.type == network.APPLICATION_DATA:
            self._data(side, record, opened.text)
        else:
            self._plain(side, opened.type, opened.text, record.size)

    # After losses

    def _emit_lost(self, side: Side, size: int, count: int) -> None:
        """Emit the events for `count` lost records of `size` bytes in total."""
        side.messages.restart()
        side.doubtful = True
        around = side.cipher.around * count if side.cipher else size
        if count and side.cipher and size > around and not side.coming:
            self._tls_events.around(side.number, around, self._place)
            self._gap(side, size - around)
        else:
            self._emit(side, size, reason=MISSING)

    def _accept_after_loss(self, side: Side, record: Record) -> bool:
        """Return whether bytes after a loss that read as a record are one. If so, process it."""
        side.doubtful = True
        if not side.encrypted and record.type != network.APPLICATION_DATA and self._is_plain(side, record):
            self._emit_lost(side, side.records.found().size, 0)
            self._plain(side, record.type, record.data, record.size)
            return True
        self._seek(side)
        ciphers = [side.cipher, *side.next_keys()] if side.cipher else side.coming
        if not ciphers:
            self._emit_lost(side, side.records.found().size, 0)
            self._record(side, record)
            return True
        for cipher in ciphers:
            first = side.sequence if cipher is side.cipher else 0
            fit = min(side.records.left // cipher.around + 1, MOST_TRIED)
            for sequence in range(first, first + fit):
                if opened := cipher.open(record, sequence):
                    lost = side.records.found()
                    if cipher is not side.cipher:
                        self._turn_to(side, cipher, sequence)
                    self._emit_lost(side, lost.size, sequence - first)
                    side.sequence = sequence + 1
                    side.passed = 0
                    self._opened(side, record, opened)
                    return True
        return False

    # Contents of records

    def _plain(self, side: Side, kind: int, text: bytes, size: int) -> None:
        content: list[str] = []
        if kind == network.HANDSHAKE:
            content = [self._message(side, message) for message in side.messages.feed(text)]
        elif kind == network.CHANGE_CIPHER_SPEC:
            content = ["ChangeCipherSpec"]
            if not self._hellos.is_1_3:
                side.turn()
        elif kind == network.ALERT:
            content = [alert_name(text)]
        elif kind == network.HEARTBEAT:
            content = ["heartbeat"]
        self._emit(side, size, content[0] if content else None)
        for name in content[1:]:
            self._emit(side, 0, name)

    def _message(self, side: Side, message: Message) -> str:
        """Return the name of a handshake message, and apply what the message changes."""
        name = message_name(message, is_1_3=self._hellos.is_1_3)
        if message.type == network.CLIENT_HELLO:
            name = self._hellos.on_client_hello(side.number, message.body) or name
            if self._hellos.version != network.TLS_1_2:
                side.cipher = None
                side.encrypted = False
        elif message.type == network.SERVER_HELLO:
            name = self._hellos.on_server_hello(message.body) or name
            for party in self._sides:
                party.coming.clear()
        elif message.type == network.KEY_UPDATE and side.cipher:
            side.turn(side.cipher.updated() or side.cipher)
        elif (
            message.type == network.FINISHED
            and self._hellos.version != network.TLS_1_2
            and self._expects_another_key(side)
        ):
            side.turn()
        return name

    def _expects_another_key(self, side: Side) -> bool:
        """Return whether the side will switch to another key, known or unknown."""
        self._seek(side)
        return bool(side.coming) or self._hellos.lacking(side.number, waits=True) is not None
