"""The rule book kafka-4.4 against Kafka's own generator, which Judge.java runs."""

import zipfile
from pathlib import Path

import pytest
from bad_definitions import IGNORED_STRUCTS, check
from definition_mutations import mutations
from kit.peers import jars, java

from kwire_cli.errors import SpecError
from kwire_cli.spec.files import read_text
from kwire_cli.spec.rules import check_folder

GENERATOR = {
    "org/apache/kafka/generator/4.3.1/generator-4.3.1.jar": "4c4b408a5c6d",
    "com/fasterxml/jackson/core/jackson-databind/2.21.2/jackson-databind-2.21.2.jar": "8c982f01f148",
    "com/fasterxml/jackson/core/jackson-core/2.21.2/jackson-core-2.21.2.jar": "12e8655b1002",
    "com/fasterxml/jackson/core/jackson-annotations/2.21/jackson-annotations-2.21.jar": "53ca085f4a15",
    "com/fasterxml/jackson/datatype/jackson-datatype-jdk8/2.21.2/jackson-datatype-jdk8-2.21.2.jar": "e581bbf3fc56",
    "net/sourceforge/argparse4j/argparse4j/0.7.0/argparse4j-0.7.0.jar": "65ceb669d88f",
}
"""The generator and its libraries, with the beginnings of their SHA-256."""
KAFKA = {
    f"org/apache/kafka/{name}/4.4.0/{name}-4.4.0.jar": ""
    for name in (
        "kafka-clients", "kafka-group-coordinator", "kafka-share-coordinator", "kafka-transaction-coordinator",
        "kafka-raft", "kafka-metadata", "kafka-storage",
    )
}  # fmt: skip
"""The jars of Kafka 4.4.0 that have definitions."""

pytestmark = pytest.mark.slow  # downloads, and a Java that generates code for 1,500 definitions


@pytest.fixture
def judge(pytestconfig):
    """Return a function that gives the generator's verdict on each file."""

    def verdicts(paths):
        return java(jars(pytestconfig.cache, GENERATOR), Path(__file__).with_name("Judge.java"), paths)

    return verdicts


def errors(path):
    """Return the rules that a definition breaks, warnings apart."""
    try:
        text = read_text(path)
    except SpecError:
        return ["JSON_SYNTAX"]
    return [finding.rule for finding in check(text) if finding.severity == "error"]


NAMES = {"MESSAGE_NAME_INVALID", "STRUCT_NAME_INVALID"}
"""Rules that are stricter than the generator, which writes classes of such names that do not compile."""


def test_the_generator_accepts_what_has_no_error(judge, tmp_path):
    paths = []
    for number, text in enumerate(mutations(1500, seed=2811)):
        path = tmp_path / f"{number}.json"
        path.write_bytes(text.encode("utf-8"))
        paths.append(path)
    verdicts = judge(paths)
    found = [errors(path) for path in paths]
    pairs = list(zip(paths, verdicts, found, strict=True))
    assert [pair for pair in pairs if pair[1] != "accepted" and not pair[2]] == []
    assert [pair for pair in pairs if pair[1] == "accepted" and {*pair[2]} - NAMES] == []
    assert 300 < verdicts.count("accepted") < 1200


def test_structs_below_a_field_that_is_no_struct_are_ignored(judge, tmp_path):
    paths = []
    for number, text in enumerate(IGNORED_STRUCTS):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        paths.append(path)
    assert {*judge(paths)} == {"accepted"}
    assert [*map(errors, paths)] == [[]] * len(paths)


def test_the_definitions_of_kafka_have_no_error(judge, tmp_path, pytestconfig):
    folders = []
    for jar in jars(pytestconfig.cache, KAFKA):
        with zipfile.ZipFile(jar) as archive:
            archive.extractall(tmp_path / jar.stem, [name for name in archive.namelist() if name.endswith(".json")])
        folders += {path.parent for path in (tmp_path / jar.stem).rglob("*.json")}
    files = [path for folder in folders for path in folder.glob("*.json")]
    assert len(files) == 286
    for folder in folders:
        assert [finding for finding in check_folder([folder]) if finding.severity == "error"] == []
    assert set(judge(files)) == {"accepted"}
