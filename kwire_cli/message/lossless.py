"""The lossless form: what Kafka's JSON form can't carry, kept beside it so that encoding gives the very same bytes.

A value encodes to canonical bytes. Where these differ from what was decoded (overlong varints, duplicate or default-valued tags, bool 2, invalid
UTF-8, lengths that lie), the smallest differing parts are kept as patches: path, kind of the part, and its bytes.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.program import Leaf, Tags
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import Item, Tree, build as build_tree, places
from kwire_cli.errors import EncodeError
from kwire_cli.message import encode as plain

if TYPE_CHECKING:
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.model import MessageSpec

KEY = plain.LOSSLESS_KEY
WHOLE, REST = "message", "gap"
"""Kinds of patches that stand for all of the bytes, and for those after the end of the message."""

Patch = dict[str, str]


def patches(decoded: Decoded) -> list[Patch]:
    """What must be put in place of the canonical bytes; empty where these are the same."""
    data = bytes(decoded.data[decoded.start : decoded.stop])
    whole = [_patch("", WHOLE, data)]
    if not decoded.complete or decoded.guess:
        return whole
    strict = _built(decoded, lenient=False)
    if strict == data:
        return []
    canonical = strict or _built(decoded, lenient=True)
    if canonical is None:
        return whole
    tree = decoded.tree
    found = _differences(tree.root, tree, _decode(decoded.spec, decoded.layout_version, canonical))
    if tree.gap:
        found.append(_patch("", REST, decoded.data[tree.gap.start : tree.gap.end]))
    if not found:
        # Null where it is not allowed: the value says it all, but only the lossless form may be encoded. Nothing follows it.
        found.append(_patch("", REST, b""))
    value = decoded.value | {KEY: found}
    return found if apply(decoded.spec, value, decoded.layout_version) == data else whole


def _built(decoded: Decoded, *, lenient: bool) -> bytes | None:
    try:
        return plain.build(decoded.spec, decoded.value, decoded.layout_version, lenient=lenient)
    except EncodeError:
        return None


def apply(spec: MessageSpec, value: dict[str, Any], version: int) -> bytes:
    """Encode a value with its patches put in place; EncodeError where one has no place."""
    found = _checked(value[KEY])
    if len(found) == 1 and found[0][1] == WHOLE:
        return found[0][2]
    rest = b"".join(data for _, kind, data in found if kind == REST)
    plain_value = {key: v for key, v in value.items() if key != KEY}
    canonical = plain.build(spec, plain_value, version, lenient=True)
    tree = _decode(spec, version, canonical)
    at = {(path, _kind(item)): item for path, item in places(tree.root)}
    changes = []
    for path, kind, data in found:
        if kind in {WHOLE, REST}:
            continue
        if (path, kind) not in at:
            raise EncodeError(f"a {kind} of the lossless form has no place in the value any more", path=path)
        changes.append((at[path, kind].start, at[path, kind].end, data))
    out, done = bytearray(), 0
    for start, end, data in sorted(changes):
        if start < done:
            raise EncodeError("parts of the lossless form overlap")
        out += canonical[done:start] + data
        done = end
    return bytes(out + canonical[done:] + rest)


def whole_frame(found: Any) -> bytes:
    """The bytes of a frame that was kept whole."""
    return b"".join(data for _, _, data in _checked(found))


def frame_patch(data: Any) -> list[Patch]:
    """A frame kept whole: what stands for one that its parts alone do not give back."""
    return [_patch("", "frame", data)]


def _checked(found: Any) -> list[tuple[str, str, bytes]]:
    try:
        return [(str(patch["path"]), str(patch["kind"]), base64.b64decode(patch["data"], validate=True)) for patch in found]
    except (TypeError, KeyError, binascii.Error, ValueError):
        raise EncodeError('the lossless form is a list of {"path", "kind", "data": base64 text}', path=KEY, value=found) from None


def _decode(spec: MessageSpec, version: int, data: bytes) -> Tree:
    entry = entry_for(spec, version)
    return build_tree(entry, walk(entry, data))


def _kind(item: Item) -> str:
    return item.node.kind if isinstance(item.node, Leaf) else type(item.node).__name__.lower()


def _patch(path: str, kind: str, data: Any) -> Patch:
    return {"path": path, "kind": kind, "data": base64.b64encode(data).decode("ascii")}


def _differences(root: Item, tree: Tree, canonical: Tree) -> list[Patch]:
    """Walk both trees together; a part that differs in itself, not only in its parts, is kept whole."""
    paths = {id(item): path for path, item in places(root)}
    found: list[Patch] = []
    open_pairs = [(root, canonical.root)]
    while open_pairs:
        ours, theirs = open_pairs.pop()
        data = tree.spans.data[ours.start : ours.end]
        if data == canonical.spans.data[theirs.start : theirs.end]:
            continue
        if ours.parts and _same_parts(ours, theirs):
            open_pairs += zip(ours.parts, theirs.parts, strict=True)
        else:
            found.append(_patch(paths[id(ours)], _kind(ours), data))
    return sorted(found, key=lambda patch: patch["path"])


def _same_parts(ours: Item, theirs: Item) -> bool:
    if isinstance(ours.node, Tags):
        return [(id(part.node), part.tag) for part in ours.parts] == [(id(part.node), part.tag) for part in theirs.parts]
    return len(ours.parts) == len(theirs.parts)
