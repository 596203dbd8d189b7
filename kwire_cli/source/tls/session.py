"""A TLS session: its two sides, its handshake, and its plaintext."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from kwire_cli.source.packets.model import Data, Event, Gap, GapKind
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


# What is known of one direction of a TLS connection.


class Side:
    """One direction. `spoken`: it has sent data; `doubtful`: something is missing that may have changed its keys."""

    __slots__ = (
        "cipher", "coming", "doubtful", "encrypted", "failed", "gap", "given_up", "messages", "number", "passed",
        "records", "sequence", "spoken",
        "updated",
    )  # fmt: skip

    def __init__(self, number: int) -> None:
        self.number = number
        self.records, self.messages = Records(), Messages()
        self.encrypted = self.spoken = self.doubtful = False
        self.cipher: Cipher | None = None
        self.updated: Cipher | None = None  # what comes after `cipher`, where that was needed already
        self.sequence = self.passed = self.failed = 0
        self.coming: list[Cipher] = []
        self.gap: GapKind = "lost"
        self.given_up: str | None = None

    def turn(self, cipher: Cipher | None = None) -> None:
        """The next record is the first under another key, be it not known which."""
        self.cipher, self.updated, self.sequence, self.encrypted = cipher, None, 0, True

    def next_keys(self) -> list[Cipher]:
        """The keys that may come next."""
        if self.cipher and not self.updated:
            self.updated = self.cipher.updated()
        return [self.updated, *self.coming] if self.updated else self.coming


# What the hellos of a connection say of its keys, and the keys that a key log has for them.


class Coming:
    """The keys of one connection, in the order in which they are used. `refused` says why nothing can be decrypted,
    where that is so.
    """

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
        """Return whether the connection is TLS 1.3, as far as known.

        In TLS 1.3 a ChangeCipherSpec means nothing.
        """
        return (
            self.version == network.TLS_1_3
            or self._retried
            or bool(self._asked and self._asked.early_data and not self._answered)
        )

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
        suite, version = suite_name(hello.suite), network.VERSIONS.get(hello.version, f"version 0x{hello.version:04x}")
        if self._asked is None:
            self.refused = "the ClientHello is not in the capture"
        elif hello.version not in {network.TLS_1_2, network.TLS_1_3}:
            self.refused = f"{version} is not supported: TLS 1.2 and 1.3 are"
        elif hello.suite not in SUITES or (SUITES[hello.suite] in OF_TLS_1_3) != (hello.version == network.TLS_1_3):
            self.refused = f"{suite} is not supported: suites with AES-GCM and ChaCha20-Poly1305 are"
        elif hello.compressed:
            self.refused = "compression is not supported"
        resumed = self._asked and (
            hello.preshared or (hello.version == network.TLS_1_2 and hello.session_id == self._asked.session_id != b"")
        )
        return f"ServerHello {version} {suite}{' resumed' if resumed else ''}"

    def _forget(self) -> None:
        for labels in self._found:
            labels.clear()

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
        if self.version == network.TLS_1_2:
            return (keylog.MASTER,)
        early = (keylog.EARLY,) if self._asked and self._asked.early_data and not is_server else ()
        return *early, keylog.HANDSHAKE[is_server], keylog.TRAFFIC[is_server]

    def _of_secret(self, label: str, secret: bytes, side: int) -> Iterator[Cipher]:
        """One key; where the suite is not known, one of each that it may be."""
        if label == keylog.MASTER:
            if self._asked and self._answered:
                yield ciphers12(SUITES[self._answered.suite], secret, self._answered.random, self._asked.random)[
                    side != self._client
                ]
            return
        for suite in (SUITES[self._answered.suite],) if self._answered else OF_TLS_1_3:
            if hashlib.new(suite.digest).digest_size == len(secret):
                yield Cipher13(suite, secret)

    def lacking(self, side: int, *, waits: bool) -> str | None:
        """Return which keys of a side are unknown and why, or None if no key is missing.

        Keys that the key log lacks count only if the side `waits` for a key.
        """
        if self._asked is None:
            return "the ClientHello is not in the capture"
        if not self._answered and self._keys.find(keylog.MASTER, self._asked.random):
            return "the ServerHello is not in the capture"
        if lacking := [label for label in self._labels(side) if label not in self._found[side]] if waits else []:
            without = "" if self._answered else ", and the ServerHello is not in the capture"
            return f"the key log has no {' or '.join(lacking)} for client random {self._asked.random.hex()}{without}"
        return None


# A TLS connection: the bytes of both sides in, data out, and what the rest is. No I/O, in the manner of h11.
#
# States of a side
#
# - plain: records are as they are, until its ChangeCipherSpec (TLS 1.2), or until a record of application
# data (TLS 1.3). - under a key: `cipher` opens records, which are counted by `sequence`. KeyUpdate makes the
# next key from this one. - between keys, `cipher` is None: behind ChangeCipherSpec, EndOfEarlyData and
# Finished. The next record is the first one under a key of `coming`.
#
# Rules - Which keys there are is known from the hellos: the client random of the one, and the suite and
# version of the other. - A record that does not open is tried as the first one of the keys that come. So what
# is missing in the capture or in the key log costs only itself. - One that opens under none is counted, and
# costs no more than itself: the next has the next number. - Behind a loss nobody knows how many records were
# lost: all numbers are tried that fit into its bytes. A record that opens under one is that one. - In place
# of data that are lost or cannot be read stands a gap, as long as they are unless records were padded.

MOST_TRIED = 1024
"""Numbers of records that are tried behind a loss."""


MOST_PASSED = 8
"""The most records behind losses that open under no key before their side is given up."""
MOST_FAILED = 64
"""Records of a side in a row that do not open behind one that did, before it is given up."""
MISSING = "bytes of it are missing"


class Session:
    """One connection, by its number in events."""

    def __init__(self, connection: int, keys: KeyLog) -> None:
        self._connection = connection
        self._sides = Side(0), Side(1)
        self._turns = Turns(connection)
        self._hellos = Coming(keys)
        self._events: list[Event] = []
        self._place = Place(None, 0)

    def feed(self, direction: int, data: bytes, time: int | None, packet: int) -> list[Event]:
        """Take the next bytes of a direction, and return the events that they cause."""
        self._place = Place(time, packet)
        side = self._sides[direction]
        if reason := side.given_up or self._hellos.refused:
            self._tell(side, len(data), reason=reason)
        else:
            side.records.feed(data)
            self._take(side)
        return self._taken()

    def lose(self, direction: int, count: int, kind: GapKind, time: int | None, packet: int) -> list[Event]:
        """Take the loss of a direction's next bytes, and return the events that it causes."""
        self._place = Place(time, packet)
        side = self._sides[direction]
        if side.given_up or self._hellos.refused:
            self._gap(side, count)
        else:
            side.gap = kind
            side.records.lose(count)
            self._take(side)
        return self._taken()

    def end(self) -> list[Event]:
        """Return the events of what is left when the connection has ended."""
        for side in self._sides:
            if left := side.records.left:
                self._tell(side, left, reason=MISSING if side.records.searching else "a record is not whole")
        self._events += self._turns.close()
        return self._taken()

    def _taken(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    # What is told

    def _tell(self, side: Side, size: int, content: str | None = None, reason: str | None = None) -> None:
        self._events += self._turns.add(side.number, size, self._place, content, reason)

    def _gap(self, side: Side, size: int) -> None:
        self._events += self._turns.end()
        self._events.append(Gap(self._connection, side.number, size, side.gap, 0, *self._place))

    def _data(self, side: Side, record: Record, text: bytes) -> None:
        self._turns.around(side.number, record.size - len(text), self._place)
        side.spoken = True
        if text:
            self._events += self._turns.end()
            self._events.append(Data(self._connection, side.number, text, *self._place))

    # Records

    def _take(self, side: Side) -> None:
        """All records that are whole by now."""
        while (record := side.records.next()) is not None:
            if isinstance(record, Lost):
                self._lost(side, record.size, 1)
                side.sequence += 1
            elif not side.records.searching:
                self._record(side, record)
            elif not self._found(side, record):
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
        left, side.given_up = side.records.left, reason
        side.records = Records()
        self._tell(side, left, reason=reason)

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
            self._tell(side, min(side.cipher.around, record.size), reason=reason)
            self._gap(side, max(record.size - side.cipher.around, 0))
        else:
            self._tell(side, record.size, reason=reason)
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
        """A record opened under another key than the one so far."""
        if cipher in side.coming:
            del side.coming[: side.coming.index(cipher) + 1]
        side.turn(cipher)
        side.sequence = sequence
        side.messages.restart()

    def _opened(self, side: Side, record: Record, opened: Opened) -> None:
        side.doubtful, side.failed = False, 0
        if opened.type == network.APPLICATION_DATA:
            self._data(side, record, opened.text)
        else:
            self._plain(side, opened.type, opened.text, record.size)

    # Behind losses

    def _lost(self, side: Side, size: int, count: int) -> None:
        """So many records were lost, with all their bytes."""
        side.messages.restart()
        side.doubtful = True
        around = side.cipher.around * count if side.cipher else size
        if count and side.cipher and size > around and not side.coming:
            self._turns.around(side.number, around, self._place)
            self._gap(side, size - around)
        else:
            self._tell(side, size, reason=MISSING)

    def _found(self, side: Side, record: Record) -> bool:
        """Return whether the bytes that read as a record behind a loss are a record. If so, take it."""
        side.doubtful = True
        if not side.encrypted and record.type != network.APPLICATION_DATA and self._is_plain(side, record):
            self._lost(side, side.records.found().size, 0)
            self._plain(side, record.type, record.data, record.size)
            return True
        self._seek(side)
        ciphers = [side.cipher, *side.next_keys()] if side.cipher else side.coming
        if not ciphers:
            self._lost(side, side.records.found().size, 0)
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
                    self._lost(side, lost.size, sequence - first)
                    side.sequence, side.passed = sequence + 1, 0
                    self._opened(side, record, opened)
                    return True
        return False

    # What records say

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
        self._tell(side, size, content[0] if content else None)
        for name in content[1:]:
            self._tell(side, 0, name)

    def _message(self, side: Side, message: Message) -> str:
        """Return the name of a handshake message, and apply what the message changes."""
        name = message_name(message, is_1_3=self._hellos.is_1_3)
        if message.type == network.CLIENT_HELLO:
            name = self._hellos.asked(side.number, message.body) or name
            if self._hellos.version != network.TLS_1_2:
                side.cipher, side.encrypted = None, False
        elif message.type == network.SERVER_HELLO:
            name = self._hellos.answered(message.body) or name
            for party in self._sides:
                party.coming.clear()
        elif message.type == network.KEY_UPDATE and side.cipher:
            side.turn(side.cipher.updated() or side.cipher)
        elif (
            message.type in {network.FINISHED, network.END_OF_EARLY_DATA}
            and self._hellos.version != network.TLS_1_2
            and self._goes_on(side)
        ):
            side.turn()
        return name

    def _goes_on(self, side: Side) -> bool:
        """Return whether another key of the side is to come, known or not."""
        self._seek(side)
        return bool(side.coming) or self._hellos.lacking(side.number, waits=True) is not None
