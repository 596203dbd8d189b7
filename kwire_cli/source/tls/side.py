"""What is known of one direction of a TLS connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.source.tls.handshake import Messages
from kwire_cli.source.tls.records import Records

if TYPE_CHECKING:
    from kwire_cli.source.capture.events import GapKind
    from kwire_cli.source.tls.ciphers import Cipher


class Side:
    """One direction. `spoken`: it has sent data; `doubtful`: something is missing that may have changed its keys."""

    __slots__ = (
        "cipher", "coming", "doubtful", "encrypted", "failed", "gap", "given_up", "messages", "number", "passed", "records", "sequence", "spoken",
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
