"""Forms of messages, and their registry.

A form is one way to write a message: a definition at a version. FORMS contains the forms of any message by name. A new
form is one entry in FORMS, and `kwire compare --form` offers it. Most forms change the definition
(`changed_definitions`). Versions and overlays are forms too, and so are the two sides of a changed definition.
`forms_of` returns the forms that a command chooses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import construct

from kwire_cli.analysis.costs.changed_definitions import (
    all_tagged,
    encoded,
    flexible,
    inflexible,
    with_tags,
    without_tags,
)
from kwire_cli.analysis.costs.extremes import BEST, WORST, extreme
from kwire_cli.analysis.costs.header_forms import HEADER_FORMS
from kwire_cli.analysis.costs.record_forms import FORMS as RECORD_FORMS
from kwire_cli.engine.lower import lower
from kwire_cli.engine.spans import walk
from kwire_cli.errors import EncodeError, InputError, close_to, did_you_mean
from kwire_cli.spec.model import fields_by_path
from kwire_cli.spec.overlay import bundled_overlays, load_overlay
from kwire_cli.spec.reading import ENCODING_NAMES, OWN_WIDTH
from kwire_cli.stores.paths import exists
from kwire_cli.structs.composites import MessageStruct
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import Varint
from kwire_cli.structs.rejected import EscapedStruct, typed_struct

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.spans import Spans
    from kwire_cli.spec.model import MessageSpec
    from kwire_cli.spec.overlay import Overlay
    from kwire_cli.structs.messages import StructOf


@dataclass(frozen=True, eq=False)
class Form:
    """One way to write a message: a definition at a version.

    `case` is best or worst if the integers of the message are replaced by integers that this form writes in the
    fewest or the most bytes. `source` is another definition that values may belong to, and `names` contains the new
    names of its fields by path. `assumed` contains values by the steps of their paths, which all messages get.
    `struct` declares structs with tag sections other than Kafka's.
    """

    name: str
    spec: MessageSpec
    version: int
    case: str | None = None
    source: MessageSpec | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    assumed: Mapping[tuple[str, ...], Any] = field(default_factory=dict)
    struct: StructOf = MessageStruct

    @property
    def is_flexible(self) -> bool:
        """Return whether structures end in a tag section."""
        return self.version in self.spec.flexible_versions

    @cached_property
    def layout(self) -> MessageStruct:
        """Return the declaration that builds the bytes."""
        return declare(self.spec, self.version, self.struct)

    @cached_property
    def readable(self) -> MessageStruct:
        """Return the declaration with Kafka's structs, which the engine reads."""
        if self.struct is MessageStruct:
            return self.layout
        return declare(self.spec, self.version)

    @cached_property
    def entry(self) -> Entry:
        """Return the entry that reads messages with Kafka's structs."""
        return lower(self.readable)

    def read(self, data: bytes) -> Spans:
        """Return the spans of a message. If the form has other structs, construct reads it and writes it with Kafka's
        structs first.
        """
        return walk(self.entry, data if self.readable is self.layout else self.readable.build(self.layout.parse(data)))

    def integers(self, case: str) -> dict[str, int]:
        """Return the number of the fewest or the most bytes in each varint's encoding of this form."""
        numbers = {}
        for leaf in self.entry.program.leaves:
            if isinstance(leaf.decl, Varint):
                encoding = f"{'' if leaf.decl.zigzag else 'u'}packed{leaf.decl.bits}"
                numbers[encoding] = extreme(leaf.kind, encoding, case)
        return numbers

    @cached_property
    def known(self) -> dict[int, tuple[Any, ...]]:
        """Facts about structs of this form, by the identity of their fields."""
        return {}

    @cached_property
    def foreign(self) -> set[str]:
        """Return the paths of the fields of `source` that the form lacks."""
        paths = {path for path, _ in fields_by_path(self.source)} if self.source else set()
        return paths - {path for path, _ in fields_by_path(self.spec)} - self.names.keys()


def written_form(form: Form, value: Any) -> bytes:
    """Return the bytes of values in a form. Raise EncodeError with the path of a value that does not fit."""
    try:
        return bytes(form.layout.build(value))
    except construct.ConstructError as error:
        raise EncodeError(str(error), value=value) from error
    except RecursionError:
        raise EncodeError("the value nests too deeply") from None


def highest(spec: MessageSpec) -> int:
    """Return the highest stable version."""
    return max(spec.valid_versions.high - spec.latest_version_unstable, spec.valid_versions.low)


# The registry.

GIVEN = "as given"
LOWEST = "lowest version"
HIGHEST = "highest version"
INFLEXIBLE = "inflexible"
FLEXIBLE = "flexible"
ALL_TAGGED = "all-tagged"
PLAIN = "plain"
TAGGED = "tagged"


class Recipe(NamedTuple):
    """A rule for the form of a message at a version: a changed definition, an encoding of integers, another version.

    `change` and `encoding` apply to the fields of some paths. Without paths, they apply to all possible fields. `case`
    is that of the form.
    """

    change: Callable[[MessageSpec, Collection[str]], MessageSpec] = lambda spec, _: spec
    encoding: str | None = None
    version: Callable[[MessageSpec], int] | None = None
    struct: StructOf = MessageStruct
    case: str | None = None


FORMS: Mapping[str, Recipe] = {
    LOWEST: Recipe(version=lambda spec: spec.valid_versions.low),
    HIGHEST: Recipe(version=highest),
    INFLEXIBLE: Recipe(inflexible),
    FLEXIBLE: Recipe(flexible),
    ALL_TAGGED: Recipe(all_tagged),
    "tag-type": Recipe(flexible, struct=typed_struct),
    "escape-bytes": Recipe(flexible, struct=EscapedStruct),
    PLAIN: Recipe(without_tags),
    TAGGED: Recipe(with_tags),
    **{name: Recipe(encoding=name) for name in (*OWN_WIDTH, *ENCODING_NAMES)},
    **{f"{name}-{case}": Recipe(encoding=name, case=case) for name in ("packed", "upacked") for case in (BEST, WORST)},
}
"""The forms by name. KIP-482 rejects `all-tagged`, `tag-type` and `escape-bytes`. The form `plain` has no tagged
fields, and `tagged` tags the fields that Kafka's generator accepts. In `packed-best` and `packed-worst`, all integers
are replaced by numbers that take the fewest, or the most, bytes.
"""


AND = " and "


OF_RECORDS = tuple(dict.fromkeys((*RECORD_FORMS, *HEADER_FORMS)))
"""The names of forms of records."""
_NAMES = (*FORMS, *OF_RECORDS)


def form_of(name: str, spec: MessageSpec, version: int, paths: Collection[str] = ()) -> Form:
    """Return a form in FORMS for a message at a version, or several of them at once, such as `packed and tagged`.

    `paths` limits the form to these fields.
    """
    form = Form(name, spec, version)
    for part in name.split(AND):
        recipe = FORMS[part]
        changed = recipe.change(form.spec, paths)
        if recipe.encoding:
            changed = encoded(changed, recipe.encoding, paths)
        number = recipe.version(spec) if recipe.version else form.version
        form = Form(name, changed, number, case=recipe.case, struct=recipe.struct)
    return form


@dataclass(frozen=True, slots=True)
class Choice:
    """The forms that are chosen: versions, names of FORMS, and overlays.

    `fields` contains paths, or their last parts, of the fields with other encodings. Without it, every integer gets
    them.
    """

    versions: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    overlays: tuple[tuple[str, Overlay], ...] = ()


def choice_of(versions: Sequence[int], forms: Sequence[str], fields: Sequence[str]) -> Choice:
    """Return the chosen forms of messages. `forms` has names as for --form: forms, and names or files of overlays.

    Forms of records are left out. Raise InputError for an unknown form, and for fields without an encoding.
    """
    chosen = {*forms, *((INFLEXIBLE,) if FLEXIBLE in forms else ())}
    names = tuple(name for name in FORMS if name in chosen)
    if fields and not any(FORMS[name].encoding for name in names):
        raise InputError("--paths needs an encoding in --form")
    overlays = []
    for name in forms:
        if name in _NAMES:
            continue
        if not exists(name) and name not in bundled_overlays():
            close = did_you_mean(close_to(name, (*_NAMES, *bundled_overlays())))
            raise InputError(f"--form takes {', '.join(_NAMES)} or an overlay, not {name!r}{close}")
        overlays.append((Path(name).stem, load_overlay(name)))
    return Choice(tuple(versions), names, tuple(fields), tuple(overlays))


USUAL = Choice(names=(LOWEST, HIGHEST, INFLEXIBLE, FLEXIBLE, ALL_TAGGED, "packed", "upacked"))
"""The most informative forms."""


def forms_of(spec: MessageSpec, version: int, choice: Choice) -> list[Form]:
    """Return the original form of a message at a version, and the chosen forms that the message has."""
    forms = [Form(GIVEN, spec, version)]
    forms += [Form(f"version {other}", spec, other) for other in choice.versions if other in spec.valid_versions]
    forms += [form_of(name, spec, version, choice.fields if FORMS[name].encoding else ()) for name in choice.names]
    for name, overlay in choice.overlays:
        forms += _overlaid(spec, version, name, overlay)
    return forms


def _overlaid(spec: MessageSpec, version: int, name: str, overlay: Overlay) -> Iterator[Form]:
    """Yield the version under an overlay, or the versions that the overlay adds to the message."""
    laid = overlay.laid(spec)
    added = [other for other in laid.valid_versions.each() if other not in spec.valid_versions]
    if not added:
        yield Form(f"overlay {name}", laid, version)
    yield from (Form(f"overlay {name}, version {other}", laid, other) for other in added)


def concerns(overlay: Overlay, spec: MessageSpec) -> bool:
    """Return whether an overlay changes a message."""
    return spec.name in overlay.messages or "*" in overlay.messages
