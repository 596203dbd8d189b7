"""Messages in a format that nobody speaks yet: their values are written again under overlaid definitions, and what is counted are those bytes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kwire_cli.cost.forms.carrying import carried
from kwire_cli.cost.forms.model import Form
from kwire_cli.cost.forms.pricing import written
from kwire_cli.engine.anomalies import anomalies
from kwire_cli.engine.folds import OddError, fold_of
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import Form as Shown, value
from kwire_cli.errors import EncodeError
from kwire_cli.spec.changing import changed, fields_by_path
from kwire_cli.spec.evolution.layout import tagged_at
from kwire_cli.spec.versions import NONE

if TYPE_CHECKING:
    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.spans import Spans
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec

MOST_KEPT, LARGEST_KEPT = 4096, 1024
"""Messages, and bytes of one, that are kept with what they are under the overlay: captures say the same things again and again."""


def is_regular(entry: Entry, spans: Spans) -> bool:
    """Whether the values say all that the bytes do: everything was read, and any correct writer would write these very bytes."""
    try:
        fold_of(entry, "size")(spans)
    except OddError:
        return spans.lost < 0 and spans.used == spans.stop and not anomalies(build(entry, spans))
    return spans.used == spans.stop


def values_of(entry: Entry, spans: Spans) -> dict[str, Any] | None:
    """The values of a regular message in Kafka's JSON form, records as base64 text; None for one that is not regular."""
    try:
        found: dict[str, Any] = fold_of(entry)(spans)
    except OddError:  # also where there are unknown tags, which a fold leaves to the general way
        if not is_regular(entry, spans):
            return None
        tree = build(entry, spans)
        found = value(tree.root, tree, Shown())
    return found if spans.used == spans.stop else None


def takes_all(shipped: MessageSpec, laid: MessageSpec, version: int) -> bool:
    """Whether the values of a message can be written under an overlay as they are.

    No field comes or goes, and what may be left out at its default still may be, at the same one.
    """

    def presence(spec: MessageSpec) -> list[tuple[str, bool, bool]]:
        return [(path, version in field.versions, version in field.nullable_versions) for path, field in fields_by_path(spec)]

    def tagged(spec: MessageSpec) -> set[tuple[str, str | None]]:
        return {(path, field.default) for path, field in fields_by_path(spec) if tagged_at(spec, field, version)}

    return presence(shipped) == presence(laid) and tagged(shipped) <= tagged(laid)


def _untagged(_: str, field: FieldSpec) -> FieldSpec:
    return replace(field, tag=None, tagged_versions=NONE)


class Overlaid:
    """Messages of the definitions of `shipped` as those of `laid` have them.

    `rewritten` counts the messages that were written again, `as_written` those that an overlay speaks of but that stay as they are, by the reason;
    `before` and `after` are the bytes of both. Messages within messages (Envelope, subscriptions, assignments) are bytes here, and stay.
    """

    def __init__(self, shipped: Catalog, laid: Catalog) -> None:
        self.rewritten = self.before = self.after = 0
        self.as_written: Counter[str] = Counter()
        self._shipped, self._laid = shipped, laid
        self._forms: dict[tuple[str, int], Form | None] = {}
        self._whole: dict[tuple[str, int], Form | None] = {}  # where no value may be left out, for those that have to be fitted
        self._known: dict[tuple[str, int, bytes], Spans] = {}

    def form(self, message: str, version: int) -> Form | None:
        """How a message is written under the overlay; None where that is as it was."""
        key = (message, version)
        if key not in self._forms:
            spec = self._laid.message(message)
            shipped = self._shipped.message(message)
            self._forms[key] = None if spec == shipped else Form("overlay", spec, version)
            self._whole[key] = None if takes_all(shipped, spec, version) else Form("whole", changed(shipped, _untagged), version)
        return self._forms[key]

    def spans(self, message: str, version: int, entry: Entry, spans: Spans, *, guess: bool = False) -> Spans:
        """The spans of a message under the overlay, of its bytes there; the same where nothing changes, or it cannot be written again.

        EncodeError with the path of a value that the overlay has no room for.
        """
        form = self.form(message, version)
        if form is None:
            return spans
        found = spans
        if guess:
            self.as_written["of a version that is not known"] += 1
        elif again := self._written(form, entry, spans):
            found = again
            self.rewritten += 1
        else:
            self.as_written["with anomalies"] += 1
        self.before += spans.stop - spans.start
        self.after += found.stop - found.start
        return found

    def _written(self, form: Form, entry: Entry, spans: Spans) -> Spans | None:
        """The spans of the message written again; None where its values are not all that it says."""
        data = bytes(spans.data[spans.start : spans.stop])
        key = (form.spec.name, form.version, data)
        found = self._known.get(key)
        if found is None:
            values = values_of(entry, spans)
            if values is None:
                return None
            found = walk(form.entry, _again(form, values, self._whole[form.spec.name, form.version]))
            if len(data) <= LARGEST_KEPT:
                if len(self._known) >= MOST_KEPT:
                    self._known.clear()
                self._known[key] = found
        return found


def _again(form: Form, values: dict[str, Any], whole: Form | None) -> bytes:
    """The bytes of these values under the overlay. Those that have to be fitted are made `whole` first; what can't be carried is an error."""
    path = f"{form.spec.name} {form.version}"
    if whole:
        fit = carried(form, carried(whole, values).value)
        values = fit.value
        if fit.lost:
            first = fit.lost[0]
            raise EncodeError("the overlay has no place for this value", path=f"{path}: {first.path}", value=first.value)
    try:
        return written(form, values)
    except EncodeError as error:
        raise EncodeError(error.reason, path=f"{path}: {error.path}", value=error.value) from None
