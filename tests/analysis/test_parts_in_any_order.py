"""Answers about captures do not depend on how connections are spread over tasks, and in which order tasks are merged.

So Spark reads captures: tasks have connections of their own, and frames have no numbers.
"""

import functools
import pickle
import random

import pytest
from kit.calls import subjects
from kit.captures import CHOSEN
from kit.commands import ROOT

from kwire_cli.analysis.dimensions import OF_LINES
from kwire_cli.analysis.stats import Stats
from kwire_cli.analysis.timeline import Timeline
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.view.answers import answer_document

SHARED = sorted((ROOT.parent / "shared/real/own/captures").glob("*/*.pcap*"))[::3]
TASKS = 3
"""Tasks that share the connections in the second way of cutting; in the first each has a connection."""


class WithoutConnections:
    """A fold that takes no TCP connections."""

    def __init__(self, fold):
        self.fold = fold

    def add(self, subject):
        if not isinstance(subject, TcpConnection):
            self.fold.add(subject)

    def merge(self, other):
        self.fold.merge(other.fold)

    def answer(self):
        return self.fold.answer()


FOLDS = {
    "stats": lambda: WithoutConnections(Stats({kind: {} for kind in OF_LINES})),
    "timeline": lambda: WithoutConnections(Timeline(100, [*OF_LINES])),
}


@functools.cache
def lines(path):
    """Return the lines and connections of a capture, without numbers of frames."""
    given = subjects(path, connections=True)
    for subject in given:
        if not isinstance(subject, TcpConnection):
            subject.number = 0
    return given


def answers(make, given, streams, chance):
    """Yield the answer of the whole, and those of parts."""
    yield document(make(), given)
    for tasks in (len(streams), TASKS):
        by_task = [make() for _ in range(tasks)]
        task_of = {stream: number % tasks for number, stream in enumerate(streams)}
        for subject in given:
            by_task[task_of[subject.stream]].add(subject)
        parts = [pickle.loads(pickle.dumps(task)) for task in by_task]
        chance.shuffle(parts)
        whole = make()
        for part in parts:
            whole.merge(part)
        yield document(whole)


def document(fold, given=()):
    for subject in given:
        fold.add(subject)
    return answer_document(fold.answer())


def differences(name, paths):
    """Return what differs between the whole and its parts, by capture."""
    chance = random.Random(7)
    unlike = {}
    for path in paths:
        given = lines(path)
        streams = list(dict.fromkeys(subject.stream for subject in given))
        chance.shuffle(streams)
        whole, *others = answers(FOLDS[name], given, streams, chance)
        for other in others:
            parts = {(part, key) for part in ("tables", "facts") for key in {*whole[part], *other[part]}}
            names = [key for part, key in sorted(parts) if whole[part].get(key) != other[part].get(key)]
            if names or whole != other:
                unlike[str(path)] = names or "notes"
    return unlike


@pytest.mark.parametrize("name", FOLDS)
def test_answers_do_not_depend_on_how_connections_are_cut(name):
    assert differences(name, CHOSEN) == {}


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("name", FOLDS)
def test_answers_about_real_captures_do_not_depend_on_how_connections_are_cut(name):
    assert differences(name, SHARED) == {}
