"""The library's function for the bytes of captures: `kwire_cli.overhead`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.costs.overhead import Overhead
from kwire_cli.analysis.subjects import add_all
from kwire_cli.errors import InputError, close_to, did_you_mean
from kwire_cli.facts.costs.columns import DIMENSIONS, owners_of
from kwire_cli.facts.costs.counting import Costs
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Reading
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.analysis.library import Input
    from kwire_cli.answer import Answer
    from kwire_cli.spec.catalog import Paths


def overhead(
    *captures: Input,
    by: Sequence[str] = ("api", "kind"),
    port: int | None = None,
    tls_keylog: Sequence[str] = (),
    specs: Paths | None = None,
    kafka: str | None = None,
) -> Answer:
    """Return the bytes of captures by each dimension in `by`, like `kwire overhead`.

    Raises InputError for an unknown dimension, and for inputs that `ask` rejects.
    """
    if unknown := [name for name in by if name not in DIMENSIONS]:
        hint = did_you_mean(close_to(unknown[0], DIMENSIONS)) or f"; dimensions are {', '.join(DIMENSIONS)}"
        raise InputError(f"{unknown[0]!r} is no dimension{hint}")
    definitions = catalog(specs, kafka)
    fold = Overhead([(name,) for name in by], Costs(definitions, owners_of(by)))
    how = Reading(catalog=definitions, port=port, key_logs=tuple(tls_keylog))
    add_all(open_inputs([str(path) for path in captures], how, takes={Kind.CAPTURE}), fold)
    return fold.answer().read()
