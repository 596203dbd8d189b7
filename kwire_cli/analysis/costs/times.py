"""The time to encode and to decode a message in each of its forms.

Each task runs twice to warm up. Then every round runs every form, so that a disturbance of the machine affects all
forms. The result is the median of the rounds.
"""

from __future__ import annotations

from statistics import median
from timeit import Timer
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.carrying import carried
from kwire_cli.analysis.costs.forms import written_form
from kwire_cli.answer import Column, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.analysis.costs.forms import Form

ROUNDS = 5
SECONDS = 0.02
"""Duration of encoding, and of decoding, of each form in one round."""
FIXED = "fixed"
"""The form with every integer at its own width. Times are compared with it, or with the first form if it is absent."""
_COLUMNS = (
    Column("form"),
    Column("encode", "duration", unit="µs"),
    Column("decode", "duration", unit="µs"),
    Column("encodeRatio", "number", digits=2),
    Column("decodeRatio", "number", digits=2),
)


class Times(NamedTuple):
    """The seconds to encode a form of one message with construct, and to decode it with the kernel in plain Python."""

    form: str
    encode: float
    decode: float


def measure_times(forms: Sequence[Form], value: Any) -> list[Times]:
    """Measure the time to encode and to decode the values of a message in each form. The values are in JSON form.

    Forms that the kernel does not read are left out.
    """
    measured = [form for form in forms if form.readable is form.layout]
    clocks = [[_clock(task) for task in encode_and_decode(form, value)] for form in measured]
    rounds = [[(encode(), decode()) for encode, decode in clocks] for _ in range(ROUNDS)]
    by_form = [zip(*of_form, strict=True) for of_form in zip(*rounds, strict=True)]
    return [Times(form.name, *map(median, seconds)) for form, seconds in zip(measured, by_form, strict=True)]


def times_table(times: Sequence[Times]) -> Table:
    """Return a table of the times of each form, with their ratios to the form `fixed`."""
    base = next((row for row in times if row.form == FIXED), times[0] if times else None)
    rows = [(*row, round(row.encode / base.encode, 3), round(row.decode / base.decode, 3)) for row in times if base]
    note = f"ratio: to {base.form}, in the same run" if base else ""
    title = "times of one message, measured now on this machine; other machines and other runs differ"
    return Table("times", _COLUMNS, rows, title, note=note)


def encode_and_decode(form: Form, value: Any) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return a function that encodes the values in a form, and one that decodes the bytes.

    Raises EncodeError if the form cannot store the values.
    """
    fitting = carried(form, value).value
    data = written_form(form, fitting)
    return lambda: form.layout.build(fitting), lambda: form.read(data)


def _clock(task: Callable[[], object]) -> Callable[[], float]:
    """Return a function that measures the seconds of one call, by repeating the call for a short time."""
    timer = Timer(task)
    timer.timeit(1)
    calls = max(1, int(SECONDS / timer.timeit(1)))
    return lambda: timer.timeit(calls) / calls
