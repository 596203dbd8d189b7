"""Messages that end in a record set, cut at every byte: every view shows the records in front of the cut."""

import re

import pytest
from kit.commands import ROOT
from kit.logs import segments
from kit.traffic import Wire

import kwire_cli
from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.tree import build, places
from kwire_cli.message.decoded import record_sets
from kwire_cli.message.frames import Hints, read
from kwire_cli.message.redaction import Redaction
from kwire_cli.message.roles import roles
from kwire_cli.records.batch import Batch
from kwire_cli.view import hex as hex_view, tree as tree_view
from kwire_cli.view.bounded_outline import of_frame
from kwire_cli.view.explain.messages import explain_frame
from kwire_cli.view.explain.model import Look, Step
from kwire_cli.view.lines import plain

CATALOG = kwire_cli.catalog()
LENGTH = re.compile(r"records\[\d+\]\.length$")


def frame_of(name):
    (frame,) = kwire_cli.read_frames(ROOT / "samples" / "frames" / f"{name}.hex")
    return bytes(frame.data)


def fetched(version, *sets):
    """A Fetch response with these record sets by the name of their topic, and how it is read."""
    return Wire.fetched(*sets, version=version), Hints(CATALOG.api("Fetch"), version, "response")


PRODUCE = frame_of("produce-v13-request"), Hints()
PLAIN = fetched(12, ("t", segments()["compacted-txn-0"]), ("u", segments()["txn-out-0"][:180]))
PACKED = fetched(11, ("old", segments()["v1-kp-gzip-0"]), ("z", segments()["orders-zstd-0"][:300]))


class Views:
    """A frame in every view, secrets hidden."""

    def __init__(self, data, hints, size):
        self.frame = read(CATALOG, data[:size], hints, number=1, start=0, stop=size, prefixed=True)
        redaction = Redaction(CATALOG)
        hidden, reading = redaction.frame(self.frame), redaction.reading()
        self.json = self.frame.to_json(records="decoded", hidden=hidden, reading=reading)
        self.tree = [
            plain(line) for line in tree_view.frame_lines(CATALOG, self.frame, hidden, full=True, reading=reading)
        ]
        self.hex = [
            plain(line)
            for line in hex_view.frame_lines(CATALOG, self.frame, hidden, form=hex_view.HexForm(), reading=reading)
        ]
        self.outline = of_frame(CATALOG, self.frame, hidden, reading, full=True)
        events = explain_frame(self.frame, hidden, Look(True, reading))
        self.steps = [event for event in events if isinstance(event, Step)]


def records_in(document):
    """The records of all batches in a JSON document."""
    if isinstance(document, dict):
        here = [each for each in document.get("records") or () if isinstance(each, dict) and "offset" in each]
        return here or records_in([*document.values()])
    return [record for each in document for record in records_in(each)] if isinstance(document, list) else []


def codes_in(document):
    """The codes of all anomalies and gaps in a JSON document."""
    if isinstance(document, dict):
        return {document[name] for name in ("code", "gap") if isinstance(document.get(name), str)} | codes_in(
            [*document.values()]
        )
    return {code for each in document for code in codes_in(each)} if isinstance(document, list) else set()


def ends_of(data, hints):
    """Where each record ends, and whether it is packed: those of compressed batches and wrappers end with these."""
    frame = read(CATALOG, data, hints, number=1, start=0, stop=len(data), prefixed=True)
    redaction, ends = Redaction(CATALOG), []
    for each in record_sets(roles(frame.body.spec, frame.body.entry), frame.body.raw):
        for item in redaction.reading().items(data, each.topic, each.start, each.stop):
            if not isinstance(item, Batch) or item.head.codec or item.layout.name != "v2":
                ends += [(item.end, True)] * len(list(item.records())) if isinstance(item, Batch) else []
                continue
            tree = build(records_entry(item.layout.decl), item.spans())
            ends += [(part.end, False) for path, part in places(tree.root) if re.fullmatch(r"records\[\d+\]", path)]
    return ends


def check(data, hints, size, ends):
    views = Views(data, hints, size)
    whole = sum(end <= size for end, _ in ends)
    seen = len(records_in(views.json))
    more = (
        ends.count(ends[whole]) if whole < len(ends) and ends[whole][1] else 0
    )  # of packed records that are cut some may be readable
    assert whole <= seen <= whole + more, size
    assert sum(bool(re.match(r"[ │├└─]*record -?\d+", line)) for line in views.tree) == seen, size
    assert codes_in(views.json) <= {"TRUNCATED"}, size
    assert {line.split("! ")[1].split()[0] for line in [*views.tree, *views.hex] if line.lstrip().startswith("! ")} <= {
        "TRUNCATED"
    }, size
    paths = (
        [line.split("  ")[-1].split(" =")[0] for line in views.hex],
        [row.json_path for row in views.outline.rows],
        [step.path for step in views.steps],
    )
    for each in paths:
        assert sum(bool(LENGTH.search(path)) for path in each) >= sum(
            end <= size for end, packed in ends if not packed
        ), size
    covered = [step for step in views.steps if step.level == 0]
    assert [step.start for step in covered[1:]] == [step.end for step in covered[:-1]]
    if size > 4:
        assert covered[-1].end == size
    return views


@pytest.mark.slow
@pytest.mark.parametrize("case", [PRODUCE, PLAIN, PACKED], ids=["produce", "fetch", "compressed"])
def test_every_view_shows_the_records_in_front_of_the_cut(case):
    data, hints = case
    ends = ends_of(data, hints)
    assert ends
    most = 0
    for size in range(60, len(data), 3):
        most = max(most, len(records_in(check(data, hints, size, ends).json)))
    assert most >= len(ends) - 1
