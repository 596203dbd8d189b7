"""The library's functions for the bytes of captures and logs: `kwire_cli.overhead` and `kwire_cli.compare`."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.carrying import with_defaults
from kwire_cli.analysis.costs.forms import OF_RECORDS, choice_of, highest
from kwire_cli.analysis.costs.message_forms import MessageForms
from kwire_cli.analysis.costs.overhead import Overhead
from kwire_cli.analysis.costs.proposal_answer import ProposalPrices
from kwire_cli.analysis.costs.proposals import Assumption, Pricing
from kwire_cli.analysis.costs.record_forms import AS_IS, BATCH_SIZES
from kwire_cli.analysis.costs.records_answer import RecordForms
from kwire_cli.analysis.opening import open as open_subjects
from kwire_cli.analysis.subjects import add_all
from kwire_cli.errors import InputError, close_to, did_you_mean
from kwire_cli.facts.costs.columns import DIMENSIONS, owners_of
from kwire_cli.facts.costs.counting import Costs
from kwire_cli.message.decoded import build, decode_spec
from kwire_cli.message.redaction import Redaction
from kwire_cli.records.registers import read_register
from kwire_cli.source.kinds import Kind
from kwire_cli.source.log_inputs import LogItem
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Reading
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.model import check_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Unpack

    from kwire_cli.analysis.library import Input, Ways
    from kwire_cli.answer import Answer
    from kwire_cli.spec.catalog import Paths
    from kwire_cli.spec.overlay import Overlay


def overhead(
    *captures: Input,
    by: Sequence[str] = ("api", "kind"),
    port: int | None = None,
    tls_keylog: Sequence[str] = (),
    specs: Paths = (),
) -> Answer:
    """Return the bytes of captures by each dimension in `by`, like `kwire overhead`.

    Raises InputError for an unknown dimension, and for inputs that `ask` rejects.
    """
    if unknown := [name for name in by if name not in DIMENSIONS]:
        hint = did_you_mean(close_to(unknown[0], DIMENSIONS)) or f"; dimensions are {', '.join(DIMENSIONS)}"
        raise InputError(f"{unknown[0]!r} is no dimension{hint}")
    definitions = catalog(specs)
    fold = Overhead([(name,) for name in by], Costs(definitions, owners_of(by)))
    how = Reading(catalog=definitions, port=port, key_logs=tuple(tls_keylog))
    add_all(open_inputs([str(path) for path in captures], how, takes={Kind.CAPTURE}), fold)
    return fold.answer().read()


def compare(
    *inputs: Input,
    versions: Sequence[int] = (),
    forms: Sequence[Input] = (),
    fields: Sequence[str] = (),
    by_field: bool = False,
    proposals: Sequence[str | Overlay] = (),
    assume: Sequence[str] = (),
    batches: Sequence[int | str] = BATCH_SIZES,
    codecs: Sequence[str] = (AS_IS,),
    register: str | None = None,
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
        forms: Names as for --form, such as "flexible", "upacked" or "v1", and names or files of overlays. Formats of
            records compare the records. Without forms and versions, the most informative forms are compared.
        fields: Integer fields, to which encodings are limited.
        by_field: Whether the Answer has the bytes of each field.
        proposals: Files of proposed definitions and overlays, which are priced in place of other forms.
        assume: Values of new fields, as for --assume.
        batches: Numbers of records in a batch, "as-is" or "all", as for --batch.
        codecs: Compressions of records, with a level as in "zstd:19", or "as-is".
        register: The file with the numbers of header keys, as for --register.
        message: The name of the message of `values`.
        version: The version of `values`. None is the highest.
        values: The values of one message in JSON form, in place of inputs.
        filter: The chosen frames or batches, in the language of --filter.
        ways: The arguments of all questions, which `ask` documents.

    Raises:
        InputError: An input, a name or a proposal cannot be used, or nothing can be compared.

    """
    definitions = catalog(ways.get("specs", ()))
    names = [str(name) for name in forms]
    choice = choice_of(versions, names, fields)
    subjects: Iterator[Any] = iter(())
    if inputs:
        subjects = (subject.source for subject in open_subjects(*inputs, filter=filter, **ways))
    elif message is None:
        raise InputError("give captures or logs, or a message and its values")
    else:
        spec = definitions.message(message)
        check_version(spec, version)
        number = highest(spec) if version is None else version
        subjects = iter([decode_spec(spec, build(spec, with_defaults(spec, values, number), number), number)])
    first = next(subjects, None)
    fold: ProposalPrices | RecordForms | MessageForms
    if proposals:
        if names or versions:
            raise InputError(
                "proposals are priced in place of forms and versions: compare these in a call of their own"
            )
        pricing = Pricing(definitions, proposals, [Assumption.parse(text) for text in assume])
        fold = ProposalPrices(Redaction(definitions), pricing)
    elif isinstance(first, LogItem) or any(name in OF_RECORDS for name in names):
        if other := [name for name in names if name not in OF_RECORDS]:
            raise InputError(f"the form {other[0]} is for messages, and these are records")
        fold = RecordForms(definitions, names, batches, codecs, read_register(register))
    else:
        if register or [*codecs] != [AS_IS] or [*batches] != [*BATCH_SIZES]:
            raise InputError("batches, codecs and a register are for records, and these are messages")
        fold = MessageForms(definitions, choice, by_field=by_field)
    for subject in chain([first] if first else (), subjects):
        if isinstance(subject, LogItem) and not isinstance(fold, RecordForms):
            logs = "a proposal is priced in captures, and these are logs"
            raise InputError(logs if proposals else "compare takes captures, or logs, but not both")
        fold.add(subject)
    if fold.emptiness:
        raise InputError(fold.emptiness)
    return fold.answer().read()
