"""What the KIP-82 draft weighs its message against, so that it can be priced: other ways to carry headers, and size reductions that it leaves out.

None of these was ever shipped, and the text lays out none of them to the byte. kwire's readings: lengths that become varints are zig-zag, -1 for
null, as in the shipped format; the bit that takes KeyLength away is the next free one, 5; a map of strings is the bytes of the draft's `Headers`; a
wrapper holds the headers and then the payload, with lengths as Kafka's requests had them, and is the value of a message of format v1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.structs.numbers import ZIGZAG, ZIGZAG_LONG
from kwire_cli.structs.records import kip82, v0, v2
from kwire_cli.structs.records.parts import Choice, flag, plain, sized
from kwire_cli.structs.sized import ArrayOf, Sized, VarintSized

if TYPE_CHECKING:
    from collections.abc import Mapping

NULL_KEY = flag("isNullKey", 5)

_MESSAGE = {field.name: field.subcon for field in kip82.MESSAGE.subcons}
_NO_KEY_LENGTH = Choice("attributes", NULL_KEY.mask, {0: v0.NULLABLE_BYTES})
_NO_KEY_LENGTH_OR_VARINT = Choice("attributes", NULL_KEY.mask, {0: v2.NULLABLE_BYTES})


def _message(**changed: Any) -> Any:
    """The draft's message with other forms of these fields."""
    return sized("messageSize", **(_MESSAGE | changed))


REDUCED: Mapping[str, Any] = {
    "no-key-length": _message(key=_NO_KEY_LENGTH),
    "varint-key-length": _message(key=v2.NULLABLE_BYTES),
    "varint-value-length": _message(value=v2.NULLABLE_BYTES),
    "all-three": _message(key=_NO_KEY_LENGTH_OR_VARINT, value=v2.NULLABLE_BYTES),
}
"""The draft's message with each of the "core message size reductions" that it puts out of scope, and with all of them."""
WITHOUT_KEY = frozenset({"no-key-length", "all-three"})
"""Those in which a null key is a bit and no bytes."""

MAP_MESSAGE = _message(headers=Choice("attributes", kip82.HAS_HEADERS.mask, {kip82.HAS_HEADERS.mask: Sized("bytes", compact=False, nullable=False)}))
"""The draft's message with the bytes of a map in place of its `Headers`."""

_AVRO_STRING = VarintSized("string", ZIGZAG_LONG, nullable=False)


class _AvroBlock(ArrayOf):
    """Pairs behind the zig-zag varint of their count."""

    def plain_prefix(self) -> Any:
        """The varint."""
        return ZIGZAG_LONG


AVRO_MAP = plain(pairs=_AvroBlock(plain(key=_AVRO_STRING, value=_AVRO_STRING), compact=False, nullable=False), end=ZIGZAG)
"""A map of strings as Avro writes it: one block of pairs, and 0 for the end."""

WRAPPER = plain(
    headers=ArrayOf(
        plain(key=Sized("string", compact=False, nullable=False), value=Sized("bytes", compact=False, nullable=True)),
        compact=False,
        nullable=False,
    ),
    payload=v0.NULLABLE_BYTES,
)
"""Message<H, P>: what a producer writes as the value of a message."""
