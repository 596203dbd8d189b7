"""Incomplete filters: what may stand where a person stopped typing."""

import pytest

from kwire_cli.filter import COLUMNS, FilterError
from kwire_cli.filter.compile import parse
from kwire_cli.filter.incomplete import Vocabulary, continued, names_from

WORDS = Vocabulary(
    fields=lambda: ["apiKeys", "errorCode", "errorMessage", "groupId", "topics"],
    apis=lambda: ["Produce", "Fetch", "FetchSnapshot"],
    errors=lambda: ["NONE", "NOT_CONTROLLER", "REQUEST_TIMED_OUT"],
    anomalies=lambda: ["TRUNCATED", "TAG_ORDER"],
)


@pytest.mark.parametrize(
    ("typed", "texts"),
    [
        ("api == Fe", ["api == Fetch", "api == FetchSnapshot"]),
        ("api==fe", ["api==Fetch", "api==FetchSnapshot"]),
        ("api == 'Fe", ["api == 'Fetch'", "api == 'FetchSnapshot'"]),
        ("api == P", ["api == Produce"]),
        ("api in (Produce, F", ["api in (Produce, Fetch", "api in (Produce, FetchSnapshot"]),
        ("api in (Produce ", ["api in (Produce,", "api in (Produce)"]),
        ("api i", ["api in (Produce", "api in (Fetch", "api in (FetchSnapshot"]),
        ("api not", ["api not in (Produce", "api not in (Fetch", "api not in (FetchSnapshot"]),
        ("apiKey == P", ["apiKey == Produce"]),
        ("error != no", ["error != NONE", "error != NOT_CONTROLLER"]),
        ("topics.errorCode == NOT", ["topics.errorCode == NOT_CONTROLLER"]),
        ("(kind == req", ["(kind == request and", "(kind == request or", "(kind == request)"]),
        ("(kind == request ", ["(kind == request and", "(kind == request or", "(kind == request)"]),
        ("kind == request o", [f"kind == request or {column}" for column in ("frame", "time")]),
        ("latency > ", ["latency > 10ms", "latency > 100ms", "latency > 1s"]),
        ("api !", ["api !=", "api !~"]),
        ("latency !", ["latency != 10ms", "latency != 100ms", "latency != 1s"]),
        ("frame !", ["frame !=", "frame != "]),
        ("groupI", [f"groupId {word}" for word in ("==", "!=", "<", "<=", ">", ">=", "~", "!~", "in (", "not in (")]),
        ("topics.error", ["topics.errorCode", "topics.errorMessage"]),
        ("not (has err", ["not (has error", "not (has errorCode", "not (has errorMessage"]),
        ("not header.corr", [f"not header.correlationId {word}" for word in ("==", "!=")]),
        ("latency > 1s ", ["latency > 1s and", "latency > 1s or"]),
        ("clientId == ", []),
        ("latency >> 1", []),
        ('clientId == "a b" and clientId == "x', []),
        ("x y ", []),
    ],
)
def test_a_filter_goes_on_from_what_was_typed(typed, texts):
    assert continued(typed, WORDS)[: len(texts) or None] == texts


def test_an_empty_filter_begins_with_a_column():
    offered = continued("", WORDS)
    assert {column.name for column in COLUMNS} | {"topic", "client", "not", "has"} <= {*offered}
    assert "groupId" not in offered


def test_operators_without_a_meaning_beside_a_column_are_not_offered():
    assert not {"api <", "api >="} & {*continued("api ", WORDS)}
    assert not {"latency ~", "latency !~"} & {*continued("latency ", WORDS)}
    assert {"clientId ~", "clientId in (", "clientId and"} <= {*continued("clientId ", WORDS)}


@pytest.mark.parametrize(
    "typed", ["", "api ", "api == ", "error ", "time ", "size > ", "not ", "(api == Fetch ", "kind "]
)
def test_every_completion_is_the_beginning_of_a_filter(typed):
    for text in continued(typed, WORDS):
        ends = [text, f"{text} 1", f'{text} "x"', f"{text} 10:00", f"{text} 1)", f"{text} api)", f"{text} api"]
        assert any(is_filter(end) or is_filter(f"{end})") for end in ends), text


def is_filter(text):
    try:
        parse(text)
    except FilterError:
        return False
    return True


def test_batches_have_columns_fields_and_kinds_of_their_own():
    assert continued("kind == ", WORDS, "batches") == ["kind == batch", "kind == control", "kind == gap"]
    assert [*names_from("produc", list, "batches")] == ["producerId", "producerEpoch"]
    assert [*names_from("records.keyS", list, "batches")] == ["records.keySize"]
    assert [*names_from("laten", list, "batches")] == []
