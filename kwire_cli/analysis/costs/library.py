"""The library's functions for the bytes of captures and logs: `kwire_cli.overhead` and `kwire_cli.compare`."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kwire_cli.analysis.costs.changed_definitions import check_fields
from kwire_cli.analysis.costs.comparison_answer import comparison_answer
from kwire_cli.analysis.costs.forms import FORMS, GIVEN, Choice, Form, forms_of, highest, usual_choice
from kwire_cli.analysis.costs.header_forms import HEADER_FORMS
from kwire_cli.analysis.costs.overhead import Overhead
from kwire_cli.analysis.costs.prices import Prices, body_of, compare_values, flexible_headers, given_total, skip_reason
from kwire_cli.analysis.costs.proposal_answer import ProposalPrices
from kwire_cli.analysis.costs.proposals import Assumption, Pricing
from kwire_cli.analysis.costs.record_forms import AS_IS, FORMS as RECORD_FORMS, Codec, RecordForms
from kwire_cli.analysis.costs.records_answer import records_answer
from kwire_cli.analysis.opening import open as open_subjects
from kwire_cli.analysis.subjects import add_all
from kwire_cli.errors import InputError, close_to, did_you_mean
from kwire_cli.facts.costs.columns import DIMENSIONS, owners_of
from kwire_cli.facts.costs.counting import Costs
from kwire_cli.message.redaction import Redaction
from kwire_cli.records.batch import Batch
from kwire_cli.records.compression import CODECS
from kwire_cli.records.registers import Register
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.kinds import Kind
from kwire_cli.source.log_inputs import LogItem
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Reading
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.model import check_version
from kwire_cli.spec.overlay import load_overlay

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import Unpack

    from kwire_cli.analysis.library import Input, Ways
    from kwire_cli.answer import Answer
    from kwire_cli.spec.catalog import Paths
    from kwire_cli.spec.model import MessageSpec
    from kwire_cli.spec.overlay import Overlay

Source = TypeVar("Source")


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


def compare(
    *inputs: Input,
    versions: Sequence[int] = (),
    forms: Sequence[str] = (),
    fields: Sequence[str] = (),
    overlays: Sequence[Input] = (),
    by_field: bool = False,
    proposals: Sequence[str | Overlay] = (),
    assume: Sequence[str] = (),
    batches: Sequence[int | str] = (AS_IS, 1, 10, 100),
    codec: str = AS_IS,
    message: str | None = None,
    version: int | None = None,
    values: Any = None,
    filter: str | None = None,  # noqa: A002 - the name of the command's option
    **ways: Unpack[Ways],
) -> Answer:
    """Return the size of messages or records in other forms, or of messages under proposals, like `kwire compare`.

    Args:
        inputs: Paths of captures, whose messages are compared, or of logs, whose records are.
        versions: Versions to compare with.
        forms: Names as for --form, such as "flexible" and "upacked", or formats of records.
        fields: Integer fields, to which encodings are limited.
        overlays: Names or files of overlays to compare with. Without any of these, the most informative forms are.
        by_field: Whether the Answer has the bytes of each field.
        proposals: Files of proposed definitions and overlays, which are priced in place of other forms.
        assume: Values of new fields, as for --assume.
        batches: Numbers of records in a batch, "as-is" or "all".
        codec: The compression of records, or "as-is".
        message: The name of the message of `values`.
        version: The version of `values`. None is the highest.
        values: The values of one message in JSON form, in place of inputs.
        filter: The chosen frames or batches, in the language of --filter.
        ways: The arguments of all questions, which `ask` documents.

    Raises:
        InputError: An input, a name or a proposal cannot be used, or nothing can be compared.

    """
    definitions = catalog(ways.get("specs"), ways.get("kafka"))
    sources = (subject.source for subject in open_subjects(*inputs, filter=filter, **ways)) if inputs else iter(())
    first = next(sources, None)
    is_log = isinstance(first, LogItem)
    _check_names("form", forms, RECORD_FORMS if is_log else FORMS)
    if is_log:
        _check_names("codec", [codec], (*CODECS.values(), AS_IS))
        records = RecordForms(forms or RECORD_FORMS, batches, [Codec(codec)], Register(), tuple(HEADER_FORMS))
        for log_item in _of_type(LogItem, chain([first], sources)):
            if isinstance(log_item.item, Batch):
                records.add(log_item.name, log_item.item)
        records.end()
        return records_answer(records).read()
    loaded = tuple((Path(name).stem, load_overlay(name)) for name in overlays)
    choice = Choice(tuple(versions), tuple(forms), tuple(fields), loaded)

    def forms_at(spec: MessageSpec, number: int) -> list[Form]:
        chosen = choice if versions or forms or loaded else usual_choice(None if inputs else spec, number)
        return [Form(GIVEN, spec, number), *forms_of(spec, number, chosen)]

    skipped: Counter[str] = Counter()
    lines = _of_type(Captured, chain([first], sources) if first else ())
    if not inputs:
        if message is None:
            raise InputError("give captures or logs, or a message and its values")
        spec = definitions.message(message)
        check_version(spec, version)
        check_fields([spec], fields)
        several = [compare_values(forms_at(spec, highest(spec) if version is None else version), values)]
        about = f"values of {spec.name}"
    elif proposals:
        pricing = Pricing(definitions, proposals, [Assumption.parse(text) for text in assume])
        priced = ProposalPrices(Redaction(definitions), pricing)
        for line in lines:
            priced.add(line)
        if not priced.priced:
            raise InputError("no message is changed by the proposals")
        return priced.answer().read()
    else:
        prices = Prices(forms_at)
        for body in map(body_of, lines):
            if (reason := skip_reason(body)) or not body:
                skipped[reason] += 1
            else:
                prices.add(body)
        if not prices.found:
            raise InputError("there is no message to price")
        check_fields(list({spec.name: spec for spec, _ in prices.forms}.values()), fields)
        several = [*prices.found.values()]
        about = f"{sum(given_total(one).messages for one in several)} messages of {', '.join(map(str, inputs))}"
    headers = flexible_headers(definitions, several)
    return comparison_answer(about, several, by_field=by_field, flexible_headers=headers, skipped=skipped).read()


def _of_type(kind: type[Source], sources: Iterable[Any]) -> Iterator[Source]:
    for source in sources:
        if not isinstance(source, kind):
            raise InputError("compare takes captures, or logs, but not both")
        yield source


def _check_names(what: str, names: Sequence[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise InputError(f"unknown {what} {name!r}{did_you_mean(close_to(name, known))}")
