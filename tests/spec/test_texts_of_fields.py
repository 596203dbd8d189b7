"""Kafka's own texts about fields are shown if the user's definitions have them: those in a jar, or in files."""

import json
import zipfile

import pytest
from kit.commands import ROOT, kwire

from kwire_cli import read_frames
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.model import texts_of
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
