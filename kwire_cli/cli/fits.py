"""Which inputs an option is for: `fits` of its declaration, or `FITS` of the group that declares it.

An option that does not fit an input is an error, because it would have no effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.cli.command import Fit
from kwire_cli.cli.typed_options import refuse
from kwire_cli.source.kinds import Kind

if TYPE_CHECKING:
    from kwire_cli.cli.typed_options import Printing
    from kwire_cli.source.reading import Opened


CAPTURES = Fit(frozenset({Kind.CAPTURE}), "packet captures")
CAPTURES_AND_LAKES = Fit(CAPTURES.kinds | {Kind.LAKE}, "packet captures and lakes")
FRAMES = Fit(frozenset({Kind.FRAMES}), "requests and responses without a capture around them")
MESSAGES = Fit(frozenset({Kind.FRAMES, Kind.BODY}), "messages without a capture around them")
ALL_MESSAGES = Fit(CAPTURES.kinds | MESSAGES.kinds, "messages")
BODIES = Fit(frozenset({Kind.BODY}), "bare bodies")
BATCHES = Fit(frozenset({Kind.BATCHES, Kind.LOG_FILE, Kind.FOLDER}), "record batches")
LISTED = Fit(CAPTURES.kinds | {Kind.BATCHES}, "packet captures and record batches")
ROWS = Fit(CAPTURES.kinds | BATCHES.kinds | {Kind.REQUEST_LOG}, LISTED.what)


def refuse_unfit(options: Printing, opened: Opened) -> None:
    """Raise UsageError for the first given option that does not support an input of this kind."""
    for name, declaration in options.FIELDS.items():
        fit = declaration.settings.get("fits")
        if fit:
            refuse_unless(fit, options, (name,), opened)


def refuse_unless(fit: Fit, options: Printing, names: tuple[str, ...], opened: Opened) -> None:
    """Raise UsageError for the first given option of `names` if the kind of an input is not in `fit`."""
    if opened.kind not in fit.kinds:
        refuse(options, names, f"is for {fit.what}, and {opened.label} is {opened.kind.what}")


def options_of_bytes(options: Printing) -> tuple[str, ...]:
    """Return the options for reading captures and frames, which generated values and JSON do not support."""
    fits = {name: declaration.settings.get("fits") for name, declaration in options.FIELDS.items()}
    return ("form", *(name for name, fit in fits.items() if fit in {CAPTURES, FRAMES}))
