"""Subjects for folds that ask about traffic and logs: of files, and of requests that a test makes up."""

import copy
import itertools
import pickle

from log_lines import document

import kwire_cli
from kwire_cli.analysis.diagnosis.diagnosis import Diagnosis
from kwire_cli.analysis.subjects import LogItem, subjects_of
from kwire_cli.records.reading import read_items, source_of
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Reading
from kwire_cli.source.request_log.exchange import Reader
from kwire_cli.view.answers import answer_document

CATALOG = kwire_cli.catalog()


def subjects(*paths, connections=False):
    """Return the subjects of captures, request logs and log directories."""
    how = Reading(catalog=CATALOG, connections=connections)
    return [
        subject for opened in open_inputs([str(path) for path in paths], how) for subject in subjects_of(opened)
    ]  # fmt: skip


def asked(fold, given):
    """Give subjects to a fold, and return it."""
    for subject in given:
        fold.add(subject)
    return fold


def rows(given):
    """Return the findings in subjects, as JSON rows."""
    return answer_document(asked(Diagnosis(), given).answer())["tables"]["findings"]


def found_in(rule, given):
    """Return the severity, the code and the subject of what one rule finds in subjects."""
    own = {kind.code for kind in rule.KINDS}
    return [(row["severity"], row["code"], row["subject"]) for row in rows(given) if row["code"] in own]


def merged_in_all_orders(make, given, parts=3):
    """Yield folds of the same subjects, each put together from parts in another order, by way of other processes."""
    size = -(-len(given) // parts)
    pieces = [pickle.dumps(asked(make(), given[at : at + size])) for at in range(0, len(given), size)]
    for order in itertools.permutations(pieces):
        whole = make()
        for piece in order:
            whole.merge(pickle.loads(piece))
        yield whole


def exchanges(*bodies, client="c"):
    """Return exchanges of a request log: each of an api, a version, a request, a response and a second."""
    reader = Reader(CATALOG)
    return [
        reader.exchange(
            document(CATALOG.api(api).key, version, request=request, response=response, client=client),
            number,
            f"2026-11-21T10:{second // 60:02}:{second % 60:02}.000000",
        )
        for number, (api, version, request, response, second) in enumerate(bodies, 1)
    ]


def log_items(name, *batches, folder="data"):
    """Return the items of a partition's log, written with these batches."""
    topic, _, partition = name.rpartition("-")
    source = source_of(kwire_cli.write_records([*batches]), topic=topic)
    file = f"{folder}/{name}/00000000000000000000.log"
    return [LogItem(topic, int(partition), file, item) for item in read_items(source)]


def batch(offset, *values, time=1_000_000, **fields):
    """Return a batch as `write_records` takes it."""
    records = [{"timestamp": time, "value": {"text": value}} for value in values]
    return {"baseOffset": offset, "records": records, **fields}


WRONG = [None, 0, -1, 1 << 70, 1.5, "", "x", True, [], {}, [None], [[]], [{}], [1], ["x"], {"x": None}]
"""Values that stand where no definition allows them."""


def deformed(body):
    """Yield a body with each part of it replaced by each of the wrong values."""
    for path in [*_paths(body)]:
        for value in WRONG:
            other = copy.deepcopy(body)
            place = other
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            yield other


def deformed_exchanges(body):
    """Yield the exchange of a body with each of its parts replaced by wrong values, as far as a log can hold it."""
    api, version, request, response, second = body
    for wrong in deformed({"request": request, "response": response}):
        if isinstance(wrong["request"], dict) and isinstance(wrong["response"], dict | None):
            yield from exchanges((api, version, wrong["request"], wrong["response"], second))


def diagnose_deformed(body, before=(), after=()):
    """Diagnose the deformed exchanges of a body by all rules, a few at a time, between others."""
    given = [*deformed_exchanges(body)]
    for start in range(30):
        asked(Diagnosis(), [*before, *given[start::30], *after]).answer()


def _paths(body, before=()):
    steps = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for step, value in steps:
        yield (*before, step)
        yield from _paths(value, (*before, step))
