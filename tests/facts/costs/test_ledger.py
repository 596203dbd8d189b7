import pytest
from kit.messages import sample

import kwire_cli as kwire
from kwire_cli.engine.python_source import MalformedError
from kwire_cli.engine.reader import counter_of
from kwire_cli.facts.costs.ledger import Kind, Ledger, Row, in_body, in_header
from kwire_cli.message.decoded import decode

BODY = bytes.fromhex("0000 03 0012 0000 0004 00 0003 0000 000c 00 00000000 02 01 08 0000000000000007 63 02 0102")


def test_each_field_has_a_row_of_prefixes_and_values():
    assert kwire.ledger(kwire.decode(BODY, message="ApiVersionsResponse", version=3)) == [
        Row("errorCode", 0, 2, 1),
        Row("apiKeys", 1, 0, 1),
        Row("apiKeys[].apiKey", 0, 4, 2),
        Row("apiKeys[].minVersion", 0, 4, 2),
        Row("apiKeys[].maxVersion", 0, 4, 2),
        Row("apiKeys[]._tags", 2, 0, 2),
        Row("throttleTimeMs", 0, 4, 1),
        Row("_tags", 1, 0, 1),
        Row("finalizedFeaturesEpoch", 2, 8, 2),
        Row("_tags[]", 2, 2, 2),
    ]


def test_what_was_not_decoded_is_a_row_named_gap():
    assert kwire.ledger(kwire.decode(BODY[:7], message="ApiVersionsResponse", version=3))[-1] == Row("gap", 0, 0, 1)
    assert kwire.ledger(kwire.decode(BODY[:6], message="ApiVersionsResponse", version=3))[-1] == Row("gap", 0, 1, 1)
    assert kwire.ledger(kwire.decode(BODY + b"\0\0", message="ApiVersionsResponse", version=3))[-1] == Row(
        "gap", 0, 2, 1
    )


def test_what_was_guessed_is_one_row():
    assert kwire.ledger(kwire.decode(BODY, message="ApiVersionsResponse", version=99)) == [
        Row("guess", 0, len(BODY), 1)
    ]


def by_owner(ledger):
    return {(row.owner, row.path, row.kinds): (row.prefix_bytes, row.value_bytes, row.count) for row in ledger.rows()}


@pytest.mark.parametrize("row", sample()[::9], ids=str)
def test_spans_vectors_and_counts_add_up_to_the_same(row):
    decoded = decode(row.catalog, row.body, row.message, row.version)
    spans, size = decoded.raw, len(decoded.raw.node)
    by_spans, by_parts, by_vector = Ledger(), Ledger(), Ledger()
    by_spans.add_spans("a", "X.", in_body, spans, times=3)
    for _ in range(3):
        by_parts.add_spans("a", "X.", in_body, spans, last=size // 2)
        by_parts.add_spans("a", "X.", in_body, spans, first=size // 2)
    assert by_owner(by_spans) == by_owner(by_parts)
    counter = counter_of(decoded.entry, {})
    for times in (1, 2):
        numbers = by_vector.vector("a", "X.", in_body, counter)
        try:
            for _ in range(times):
                counter.count(row.body, 0, len(row.body), numbers, [])
        except MalformedError:
            return
        by_vector.rows()  # what was counted stays, and the numbers begin anew
    assert by_owner(by_vector) == by_owner(by_spans)


def test_ledgers_of_other_processes_add_up_by_owner():
    spans = kwire.decode(BODY, message="ApiVersionsResponse", version=3).raw
    total, other = Ledger(), Ledger()
    total.add_spans("a", "", in_body, spans)
    other.add_spans("a", "", in_body, spans)
    other.add_spans("b", "", in_header, spans)
    other.add("b", "gap", (Kind.GAP, Kind.GAP), 0, 7, 1)
    total.merge(other)
    twice, once = Ledger(), Ledger()
    twice.add_spans("a", "", in_body, spans, times=2)
    once.add_spans("b", "", in_header, spans)
    assert by_owner(total) == by_owner(twice) | by_owner(once) | {("b", "gap", (Kind.GAP, Kind.GAP)): (0, 7, 1)}
    assert sum(row.prefix_bytes + row.value_bytes for row in total.rows(by_kinds=False)) == 3 * len(BODY) + 7


def test_bytes_that_are_accounted_for_elsewhere_are_taken_away():
    ledger = Ledger()
    ledger.add(None, "records", (Kind.LENGTH, Kind.VALUE), 4, 100, 1)
    ledger.add(None, "records", (Kind.LENGTH, Kind.VALUE), 0, -100, 0)
    assert ledger.rows() == [Row("records", 4, 0, 1, (Kind.LENGTH, Kind.VALUE))]


def test_a_field_called_gap_is_no_gap():
    ledger = Ledger()
    ledger.add(None, "gap", (Kind.LENGTH, Kind.VALUE), 0, 2, 1)
    ledger.add(None, "gap", (Kind.GAP, Kind.GAP), 0, 3, 1)
    assert ledger.rows(by_kinds=False) == [Row("gap", 0, 2, 1), Row("gap", 0, 3, 1)]
