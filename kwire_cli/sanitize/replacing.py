"""What stands for a name, a value, an id or an address: by a keyed hash, so that equal ones stay equal, at equal length.

A name is replaced by letters. Short ones could meet each other, so those that were given out are kept, and the next free one is taken; of longer ones
chance sees to it.
"""

from __future__ import annotations

import hashlib
import secrets
from itertools import count

LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
"""Five bits each; all of them are allowed in a topic's name, and no word that Kafka reserves is likely among them."""
TOKEN = 32
"""Letters before they come again: a long value has as many that differ, and is still compressible."""
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
        """Letters for any bytes. Of these so many are chosen, the others repeat them, or are all the same where it is fewer than TOKEN."""
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
            found = self.digest(what, data, size, attempt)
            if attempt == _ATTEMPTS or taken.setdefault(found, data) == data:
                return found
        raise AssertionError

    def _token(self, data: bytes, attempt: int) -> bytes:
        number = int.from_bytes(self.digest(b"name", data, TOKEN * 5 // 8, attempt))
        return "".join([LETTERS[number >> 5 * i & 31] for i in range(TOKEN)]).encode()

    def _short(self, data: bytes) -> bytes:
        found = self._given.get(data)
        if found is None:
            for attempt in range(_ATTEMPTS):
                found = self._token(data, attempt)[: len(data)]
                if len(self._taken) >= MOST_SHORT or (found != data and self._taken.setdefault(found, data) == data):
                    break
            assert found is not None  # noqa: S101 - for the type checker
            if len(self._given) < MOST_SHORT:
                self._given[data] = found
        return found
