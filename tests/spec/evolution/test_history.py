"""Every version that has the layout of the version before has a meaning, and every meaning has a source."""

import re
import zipfile
from itertools import pairwise

import pytest
from kit.peers import jars
from test_generator import KAFKA

import kwire_cli as kwire
from kwire_cli.spec.evolution.history import FILE, Releases, history, layout_changes, meanings, releases_of
from kwire_cli.spec.files import read_bundled

CATALOG = kwire.catalog()
ROWS = read_bundled(FILE)
HALVES = {"request": "Request", "response": "Response"}
UNKNOWN = "Kafka's definition does not say what changed"
REMOVED = ("LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown")
"""Apis whose definitions had their comments up to Kafka 3.9."""


def specs():
    return [CATALOG.message(entry.name) for entry in CATALOG]


def source_problem(row):
    """Return what is missing in the source of a row, or None."""
    if row["why"] is not None and not re.fullmatch(r"(KIP|KAFKA)-\d+(, KIP-\d+)*", row["why"]):
        return "the reason is not a KIP or an issue"
    if row["comment"] == "none" and row["why"] is None and row["text"] != UNKNOWN:
        return "neither Kafka's definitions nor a KIP"
    if row["comment"] not in {"own", "none", *HALVES} and not any(e.name == row["comment"] for e in CATALOG):
        return "no such definition"
    return None


def places(row):
    """Yield the definition with the comment and the version, for each step of a row."""
    for message, versions in row["steps"].items():
        half = HALVES.get(row["comment"])
        name = message if row["comment"] == "own" else row["comment"]
        where = re.sub("(Request|Response)$", half, message) if half else name
        yield from ((where, version) for version in versions)


def test_the_steps_without_a_change_of_layout_are_those_with_a_meaning():
    steps = {
        (spec.name, new)
        for spec in specs()
        for old, new in pairwise(spec.valid_versions.each())
        if not layout_changes(spec, old, new)
    }
    assert steps == meanings().keys()
    assert len(steps) == sum(len(versions) for row in ROWS for versions in row["steps"].values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["text"])
def test_a_meaning_has_a_source(row):
    assert row["text"]
    assert row["text"][-1] != "."
    assert source_problem(row) is None


def words(text):
    return re.findall(r"\w+", text.lower())


def mentions(comments, version):
    """Return whether comments speak of a version: by its number, in a list, or in a range."""
    for match in re.finditer(r"versions? (\d+(?:(?:, and |, | and | through |-)\d+)*)", comments, re.IGNORECASE):
        numbers = [int(number) for number in re.findall(r"\d+", match[1])]
        is_range = len(numbers) == 2 and ("through" in match[1] or "-" in match[1])
        if version in numbers or (is_range and numbers[0] <= version <= numbers[1]):
            return True
    return f"version {version}+" in comments


def test_the_comments_are_in_kafkas_definitions_and_not_copied(pytestconfig):
    comments = {}
    for jar in jars(pytestconfig.cache, KAFKA):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.endswith(".json"):
                    lines = archive.read(name).decode().splitlines()
                    text = " ".join(line.partition("//")[2].strip() for line in lines if "//" in line)
                    comments[name.rpartition("/")[2].removesuffix(".json")] = text
    copied = [" ".join(words(text)) for text in comments.values()]
    for row in ROWS:
        if row["comment"] == "none":
            continue
        for name, version in places(row):
            if not name.startswith(REMOVED):
                assert mentions(comments[name], version), (name, version)
        own = words(row["text"])
        for start in range(len(own) - 6):
            piece = " ".join(own[start : start + 7])
            assert not any(piece in text for text in copied), piece


def test_releases_are_the_first_and_the_last_that_accept_a_version():
    assert releases_of(0, 12) == Releases("4.0", None)
    assert releases_of(0, 0) == Releases(None, "3.9")
    assert releases_of(0, 99) is None
    assert [releases_of(0, version).text for version in (0, 9)] == ["Kafka 2.4 or older to 3.9", "Kafka 2.8"]


def test_the_history_of_a_message_has_all_its_versions():
    spec = CATALOG.message("ProduceRequest")
    steps = history(spec)
    assert [step.version for step in steps] == [*spec.valid_versions.each()]
    assert not steps[0].layout
    assert steps[12].meaning.why == "KIP-890"
    assert not steps[12].layout
    assert {change.kind for change in steps[13].layout} == {"added", "removed"}
    assert steps[13].meaning is None
    assert all(step.releases is None for step in history(CATALOG.message("ConsumerProtocolAssignment")))
