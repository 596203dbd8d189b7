import re

import pytest

import kwire_cli as kwire

CATALOG = kwire.catalog()
SENTENCES = re.compile(r"[A-Z].*\.", re.DOTALL)
REJOINING = (
    "MEMBER_ID_REQUIRED",
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "REBALANCE_IN_PROGRESS",
    "FENCED_MEMBER_EPOCH",
)


def test_every_error_code_has_a_meaning_and_nothing_else_has():
    assert list(CATALOG.error_meanings) == [row.name for row in CATALOG.errors]


def test_a_meaning_is_whole_sentences():
    for row in CATALOG.errors:
        for text in filter(None, CATALOG.error_meanings[row.name]):
            assert SENTENCES.fullmatch(text), row.name
            assert "  " not in text, row.name


def test_what_is_said_of_clients_does_not_contradict_a_retriable_exception():
    for row in [row for row in CATALOG.errors if row.retriable]:
        assert not CATALOG.error_meanings[row.name].clients.startswith("Not retried:"), row.name


@pytest.mark.parametrize("name", REJOINING)
def test_members_join_again_though_the_exception_is_not_retriable(name):
    row = next(row for row in CATALOG.errors if row.name == name)
    assert not row.retriable
    assert re.search(r"(again|anew|repeat)", CATALOG.error_meanings[name].clients)
    assert not CATALOG.error_meanings[name].clients.startswith("Not retried")


def test_there_is_something_to_do_about_errors_at_which_a_call_fails():
    missing = [name for name, meaning in CATALOG.error_meanings.items() if not meaning.advice]
    assert [name for name in missing if CATALOG.error_meanings[name].clients.startswith("Not retried")] == []
