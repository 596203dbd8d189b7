import json
import shutil
import zipfile
from pathlib import Path

import pytest

from kwire_cli.spec.importer import main
from kwire_cli.spec.location import specs_folder
from kwire_cli.spec.writer import definition_text

FACTS = Path(__file__).parents[3] / "shared" / "facts"
NEW_FETCH = """// a licence
{ "apiKey": "1", "type": "request", "listeners": "broker", "name": "FetchRequest", "validVersions": "4-19", "flexibleVersions": "12+",
  "fields": [ { "name": "MaxWaitMs", "type": "int32", "versions": "0+", "about": "prose", "ignorable": "true", "default": -1 } ] }"""
GONE = '{ "apiKey": 0, "type": "request", "name": "ProduceRequest", "validVersions": "none" }'
FOO = '{ "apiKey": 99, "type": "request", "name": "FooRequest", "validVersions": "0", "flexibleVersions": "0+", "fields": [] }'


@pytest.fixture
def specs(tmp_path):
    return Path(shutil.copytree(specs_folder(), tmp_path / "specs"))


def files(folder):
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in folder.rglob("*.json")}


def test_the_writer_is_stable():
    for path in Path(specs_folder()).glob("[A-Z]*.json"):
        text = path.read_text("utf-8")
        assert definition_text(json.loads(text)) == text


@pytest.mark.shared
def test_the_shipped_files_are_what_the_facts_give(tmp_path):
    if not FACTS.exists():
        pytest.skip("no reference data beside this checkout")
    assert main(["--specs", str(tmp_path), "facts", str(FACTS)]) == 0
    shipped = files(Path(specs_folder()))
    assert {name: shipped.get(name) for name in files(tmp_path)} == files(tmp_path)
    union = {row["name"]: row for row in json.loads((FACTS / "kafka-union.json").read_text("utf-8"))}
    assert {name: json.loads(text) for name, text in shipped.items() if name[0].isupper()} == {f"{name}.json": row for name, row in union.items()}


def test_a_release_replaces_by_name_and_tells_what_it_dropped(specs, tmp_path, capsys):
    jar = tmp_path / "kafka-clients-4.5.0.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("common/message/FetchRequest.json", NEW_FETCH)
        archive.writestr("common/message/SimpleExampleMessage.json", FOO.replace("FooRequest", "SimpleExampleMessage"))
        archive.writestr("other/FooRequest.json", "{")
    folder = tmp_path / "json"
    folder.mkdir()
    (folder / "FooRequest.json").write_text(FOO)
    (folder / "ProduceRequest.json").write_text(GONE)
    (folder / "notes.json").write_text("[]")
    before = files(specs)
    assert main(["--specs", str(specs), "release", "4.5", str(jar), str(folder)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert {
        "new: FooRequest",
        "replaced: FetchRequest",
        "dropped: FetchRequest: versions 0-18 are now 4-19",
        "dropped: FetchRequest: field MinBytes is gone",
    } <= set(told)
    after = files(specs)
    assert {name for name in after if after[name] != before.get(name)} == {"FetchRequest.json", "FooRequest.json", "index.json"}
    fetch = json.loads(after["FetchRequest.json"])
    assert fetch["fields"] == [{"name": "MaxWaitMs", "type": "int32", "versions": "0+", "ignorable": True, "default": "-1"}]
    assert (fetch["apiKey"], fetch["listeners"]) == (1, ["broker"])
    index = json.loads(after["index.json"])
    assert index["release"] == "4.5"
    assert index["messages"][-1]["name"] == "FooRequest"


@pytest.mark.parametrize("name", ["none.jar", "bad.jar", "bad.json"])
def test_what_can_not_be_imported_is_refused(specs, tmp_path, name, capsys):
    if name != "none.jar":
        (tmp_path / name).write_text("{")
    before = files(specs)
    assert main(["--specs", str(specs), "release", "4.5", str(tmp_path / name)]) == 2
    assert name in capsys.readouterr().err
    assert files(specs) == before
