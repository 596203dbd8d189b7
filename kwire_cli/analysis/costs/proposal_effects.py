"""What a proposal does to programs that do not know it, in a sentence for each of its forms.

A form in a version that exists is judged by the rules of `kwire breaking`. A form in a new version breaks nothing,
because a client uses a version only if its broker offers it.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING

from kwire_cli.spec.evolution.breaking import RULES
from kwire_cli.spec.evolution.changes import problems
from kwire_cli.spec.evolution.layout import layout_at
from kwire_cli.spec.model import ranges

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from kwire_cli.analysis.costs.forms import Form


def effects(priced: Iterable[Sequence[Form]]) -> Iterator[str]:
    """Yield a sentence for each form. `priced` has the forms of each message and version, first the current one."""
    pairs: dict[str, list[tuple[Form, Form]]] = defaultdict(list)
    for as_is, *others in priced:
        for form in others:
            pairs[form.name].append((as_is, form))
    for name, forms in pairs.items():
        same = [(old, new) for old, new in forms if old.version == new.version]
        new_versions = {new.version for old, new in forms if old.version != new.version}
        if new_versions:
            yield f"{name}: in version {_text(new_versions)}, which two programs use only if both have it."
        versions = _text({old.version for old, _ in same})
        faults = dict.fromkeys(chain.from_iterable(_faults(old, new) for old, new in same))
        if faults:
            yield f"{name}: a new version is needed. In version {versions}, {' and '.join(faults)}."
        elif same:
            yield f"{name}: possible in version {versions}. Programs without the field skip it."


def _faults(old: Form, new: Form) -> Iterator[str]:
    for problem in problems(layout_at(old.spec, old.version), layout_at(new.spec, new.version)):
        rule = RULES[problem.rule]
        if problem.old_fails and problem.new_fails and rule.old_reads_new == rule.new_reads_old:
            yield f"a program with the field and one without it misread each other: either {rule.old_reads_new}"
            continue
        if problem.old_fails and rule.old_reads_new:
            yield f"a program without the field {rule.old_reads_new}"
        if problem.new_fails and rule.new_reads_old:
            yield f"a program with the field {rule.new_reads_old}"


def _text(versions: Collection[int]) -> str:
    return ", ".join(map(str, ranges(versions)))
