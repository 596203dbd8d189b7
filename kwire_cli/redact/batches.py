"""Secrets in batches whose bytes are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.engine.tree import places
from kwire_cli.message.record_fields import is_internal
from kwire_cli.records.payloads import payload_of

if TYPE_CHECKING:
    from kwire_cli.engine.tree import Tree
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Hide

_SECRET = frozenset({"key", "value", "records", "messages"})


def has_secrets(batch: Batch, hide: Hide | None) -> bool:
    """Whether a record of a batch holds something to hide; of Kafka's own topics, a damaged batch is taken to."""
    if hide is None:
        return False
    if not batch.crc_valid and may_be_secret(batch.source.topic, hide):
        return True
    for record in batch.records():
        payload = payload_of(batch, record)
        if payload and payload.record and any(hide(payload.record).values()):
            return True
    return False


def may_be_secret(topic: str | None, hide: Hide | None) -> bool:
    """Whether bytes of a topic that can't be read may be a secret: of Kafka's own they may."""
    return hide is not None and topic is not None and is_internal(topic)


def hidden_in_batch(tree: Tree) -> frozenset[int]:
    """All keys and values, and what could not be read: which one holds a secret is not told by a batch of hidden ones."""
    spans = {item.span for _, item in places(tree.root) if item.span >= 0 and item.whole and item.node.name in _SECRET}
    return frozenset(spans | ({tree.gap.span} if tree.gap else set()))
