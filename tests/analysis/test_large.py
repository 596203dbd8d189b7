"""Answers do not depend on whether frames are read one by one or many at a time."""

import pytest
from kit.calls import SAMPLES

import kwire_cli as kwire

CAPTURES = [SAMPLES / "captures" / "midstream.pcap", SAMPLES / "incidents" / "rolling-restart.pcapng.gz"]
QUESTIONS = ("summary", "stats", "clients", "groups")


@pytest.mark.slow  # of the same tables: facts/test_filling.py
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_answers_are_the_same(path, monkeypatch):
    answers = [kwire.ask(question, path) for question in QUESTIONS]
    monkeypatch.setattr("kwire_cli.facts.inputs.LARGE", 0)
    assert [kwire.ask(question, path) for question in QUESTIONS] == answers
