"""Kafka's own texts about fields are shown if the user's definitions have them: those in a jar, or in files."""

import json
import zipfile

import pytest
from kit.commands import ROOT, kwire, refusal_of

from kwire_cli import read_frames
from kwire_cli.spec import texts
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.texts import texts_of
from kwire_cli.view.bounded_outline import of_frame
from kwire_cli.view.page.details import entry


@pytest.fixture
def jar(tmp_path):
    """A jar as Kafka's, with the texts of made fields."""
    document = json.loads((ROOT / "specs" / "ApiVersionsRequest.json").read_text())
    for field in document["fields"]:
        field["about"] = f"What {field['name']} is.\x1b[2J"
    path = tmp_path / "kafka-clients-9.9.9.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("common/message/ApiVersionsRequest.json", json.dumps(document))
        archive.writestr("META-INF/MANIFEST.MF", "")
    return path


def test_a_definition_keeps_the_texts_of_its_fields(jar):
    assert texts_of(catalog(jar).message("ApiVersionsRequest"))["clientSoftwareName"].startswith("What Client")
    assert texts_of(catalog().message("ApiVersionsRequest")) == {}


def test_views_show_them_without_their_control_characters(jar):
    body = ("-m", "ApiVersionsRequest", "--message-version", "3", "0461626304312e3000")
    for words in (("decode", "-f", "hex"), ("explain", "--short"), ("explain",)):
        out = kwire(*words, "--specs", jar, *body).out
        assert ("What ClientSoftwareName is." in out) is ("--short" not in words)
        assert "\x1b" not in out
        assert "What Client" not in kwire(*words, *body).out
    assert "What ClientSoftwareName is." in kwire("spec", "show", "ApiVersionsRequest", "3", "--specs", jar).out
    shown = kwire("spec", "show", "ApiVersionsRequest", "3", "--specs", jar, "-f", "json").out
    assert json.loads(shown)["fields"][0]["about"].startswith("What ClientSoftwareName is.")


def test_the_page_has_them(jar):
    definitions = catalog(jar)
    [frame] = read_frames(bytes.fromhex("0000001700120003000000070003617070000461626304312e3000"), specs=jar)
    nodes = entry(of_frame(definitions, frame, {}, None, full=False))["nodes"]
    [name] = [node for node in nodes if node[1] == "clientSoftwareName"]
    assert name[-2:] == ["  What ClientSoftwareName is.\x1b[2J", "dim"]


@pytest.fixture
def configuration(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    texts.remembered.cache_clear()
    yield tmp_path / "configuration"
    texts.remembered.cache_clear()


SHOW = ("spec", "show", "ApiVersionsRequest", "3")


@pytest.mark.parametrize("unpacked", [False, True])
def test_a_remembered_jar_or_folder_has_the_texts(configuration, jar, tmp_path, unpacked):
    place = jar
    if unpacked:
        place = tmp_path / "kafka"
        with zipfile.ZipFile(jar) as archive:
            archive.extractall(place)
    assert kwire("spec", "docs", place).out == f"{place}\n"
    assert (configuration / "kwire" / "docs").read_text() == f"{place}\n"
    assert kwire("spec", "docs").out == f"{place}\n"
    body = ("-m", "ApiVersionsRequest", "--message-version", "3", "0461626304312e3000")
    for words in (("decode", "-f", "hex", *body), ("explain", *body), SHOW, (*SHOW, "-f", "json")):
        assert "What ClientSoftwareName is." in kwire(*words).out
    [frame] = read_frames(bytes.fromhex("0000001700120003000000070003617070000461626304312e3000"))
    assert "What ClientSoftwareName is." in str(entry(of_frame(catalog(), frame, {}, None, full=False)))
    assert "What" not in kwire("spec", "show", "HeartbeatRequest").out
    assert kwire("spec", "docs", "--forget").out == ""
    assert "What ClientSoftwareName is." not in kwire(*SHOW).out
    assert "no path is remembered" in kwire("spec", "docs").err


@pytest.mark.usefixtures("configuration")
def test_a_remembered_path_that_is_gone_is_noted(jar):
    kwire("spec", "docs", jar)
    jar.unlink()
    done = kwire(*SHOW)
    assert (done.code, done.err.count("\n")) == (0, 1)
    assert f"no texts of Kafka: {jar}: cannot be read as a jar" in done.err
    assert "clientSoftwareName" in done.out


@pytest.mark.usefixtures("configuration")
def test_only_places_with_definitions_are_remembered(tmp_path):
    assert "there is no such jar or folder" in refusal_of("spec", "docs", tmp_path / "none.jar")
    for place in (tmp_path, ROOT / "specs" / "FetchRequest.json"):
        assert "expected a jar or a folder with definitions" in refusal_of("spec", "docs", place)
    assert "--forget takes no PATH" in refusal_of("spec", "docs", "--forget", tmp_path)


def test_a_configuration_that_cannot_be_written(configuration, jar):
    (configuration / "kwire" / "docs").mkdir(parents=True)
    assert "cannot be written" in refusal_of("spec", "docs", jar)
