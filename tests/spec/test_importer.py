import csv
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from kwire_cli.spec.accepted import definition_text
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.files import specs_folder
from kwire_cli.spec.importer import index_row, main

FACTS = Path(__file__).parents[3] / "shared" / "facts"
NEW_FETCH = """// a licence
{ "apiKey": "1", "type": "request", "listeners": "broker", "name": "FetchRequest", "validVersions": "4-19", "flexibleVersions": "12+",
  "fields": [ { "name": "MaxWaitMs", "type": "int32", "versions": "0+", "about": "prose", "ignorable": "true", "default": -1 } ] }"""  # noqa: E501
GONE = '{ "apiKey": 0, "type": "request", "name": "ProduceRequest", "validVersions": "none" }'
FOO = (
    '{ "apiKey": 99, "type": "request", "name": "FooRequest", "validVersions": "0", '
    '"flexibleVersions": "0+", "fields": [] }'
)


@pytest.fixture
def specs(tmp_path):
    return Path(shutil.copytree(specs_folder(), tmp_path / "specs"))


def files(folder):
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in folder.rglob("*.json")}


def changed(before, after):
    return {name for name in after if after[name] != before.get(name)}


def test_the_writer_is_stable():
    for path in Path(specs_folder()).glob("[A-Z]*.json"):
        text = path.read_text("utf-8")
        assert definition_text(json.loads(text)) == text


@pytest.mark.shared
def test_the_shipped_files_are_what_kafkas_releases_have():
    union = json.loads((FACTS / "kafka-union.json").read_text("utf-8"))
    shipped = {path.name: json.loads(path.read_text("utf-8")) for path in Path(specs_folder()).glob("*.json")}
    assert {name: row for name, row in shipped.items() if name[0].isupper()} == {
        f"{row['name']}.json": row for row in union
    }
    assert shipped["index.json"]["messages"] == [index_row(definition) for definition in union]
    errors = [line.split("\t") for line in (FACTS / "error-codes.tsv").read_text("utf-8").splitlines()[1:]]
    assert [(str(row["code"]), row["name"]) for row in shipped["errors.json"]["errors"]] == [
        (code, name) for code, name, *_ in errors
    ]


@pytest.mark.shared
def test_header_versions_are_those_of_kafka():
    with (FACTS / "header-versions.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            key, version = int(row["apiKey"]), int(row["version"])
            headers = (
                catalog().header_version("request", key, version),
                catalog().header_version("response", key, version),
            )
            assert headers == (int(row["requestHeaderVersion"]), int(row["responseHeaderVersion"]))


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
        "dropped: FetchRequest: field minBytes is gone",
    } <= set(told)
    after = files(specs)
    assert changed(before, after) == {
        "FetchRequest.json",
        "FooRequest.json",
        "index.json",
        "releases.json",
        "kafka-4.4/FetchRequest.json",
    }
    fetch = json.loads(after["FetchRequest.json"])
    assert fetch["fields"] == [
        {"name": "MaxWaitMs", "type": "int32", "versions": "0+", "ignorable": True, "default": "-1"}
    ]
    assert (fetch["apiKey"], fetch["listeners"]) == (1, ["broker"])
    index = json.loads(after["index.json"])
    assert index["release"] == "4.5"
    assert index["messages"][-1]["name"] == "FooRequest"
    releases = json.loads(after["releases.json"])
    [*older, newest] = releases
    assert (newest, older) == ("4.5", [*json.loads(before["releases.json"])])
    accepted = {key: (releases["4.4"]["accepted"].get(key), text) for key, text in releases["4.5"]["accepted"].items()}
    assert {key: texts for key, texts in accepted.items() if len({*texts}) > 1} == {
        "1": ("4-18", "4-19"),
        "99": (None, "0"),
    }
    assert "0" not in releases["4.5"]["accepted"]


def test_what_a_release_accepts_and_deprecates(specs, tmp_path):
    (tmp_path / "FooRequest.json").write_text(
        FOO.replace('"0",', '"0-3", "deprecatedVersions": "0-1", "latestVersionUnstable": true,', 1)
    )
    (tmp_path / "BarRequest.json").write_text(
        FOO.replace("Foo", "Bar").replace("99", "98").replace('"0",', '"0", "latestVersionUnstable": true,', 1)
    )
    names = [str(tmp_path / f"{name}Request.json") for name in ("Foo", "Bar")]
    assert main(["--specs", str(specs), "release", "10.1.2", *names]) == 0
    releases = json.loads(files(specs)["releases.json"])
    row = releases["10.1"]
    assert row["accepted"] == releases["4.4"]["accepted"] | {"99": "0-2"}
    assert row["deprecated"] == {**releases["4.4"].get("deprecated", {}), "99": "0-1"}


def test_layouts_are_kept_that_a_release_does_not_read(specs, tmp_path):
    def release(name, *fields):
        rows = [{"name": field, "type": "int32", "versions": "0+", "about": "prose"} for field in fields]
        definition = json.loads((specs / "ShareGroupMetadataValue.json").read_text("utf-8")) | {"fields": rows}
        (tmp_path / "a.json").write_text(json.dumps(definition))
        assert main(["--specs", str(specs), "release", name, str(tmp_path / "a.json")]) == 0

    before = files(specs)
    release("4.5", "Epoch", "Other")
    release("4.6", "Epoch", "Renamed")
    release("4.7", "Epoch")
    after = files(specs)
    written = {f"kafka-{name}/ShareGroupMetadataValue.json" for name in ("4.4", "4.6")}
    assert changed(before, after) == {*written, "ShareGroupMetadataValue.json", "index.json", "releases.json"}
    assert after["kafka-4.4/ShareGroupMetadataValue.json"] == before["ShareGroupMetadataValue.json"]
    assert not [name for name in written if "prose" in after[name]]
    index = json.loads(after["index.json"])
    assert [*index["releases"]] == ["3.6", "3.7", "3.9", "4.0", "4.4", "4.6"]
    assert index["releases"]["4.6"] == {"ShareGroupMetadataValue": "0"}


def test_definitions_are_added_with_their_lines_in_the_index(specs, tmp_path, capsys):
    (tmp_path / "FooRequest.json").write_text("// a licence\n" + FOO.replace('"fields"', '"about": "prose", "fields"'))
    (tmp_path / "FooResponse.json").write_text(
        FOO.replace("FooRequest", "FooResponse").replace('"request"', '"response"')
    )
    before = files(specs)
    assert (
        main(["--specs", str(specs), "add", str(tmp_path / "FooRequest.json"), str(tmp_path / "FooResponse.json")]) == 0
    )
    assert capsys.readouterr().out == "new: FooRequest\nnew: FooResponse\n"
    after = files(specs)
    assert changed(before, after) == {
        "FooRequest.json",
        "FooResponse.json",
        "index.json",
    }
    assert after["FooRequest.json"] == definition_text(json.loads(after["FooRequest.json"]))
    old, index = (json.loads(text["index.json"]) for text in (before, after))
    assert index["messages"] == [*old["messages"], *index["messages"][-2:]]
    assert [row["file"] for row in index["messages"][-2:]] == ["FooRequest.json", "FooResponse.json"]
    assert main(["--specs", str(specs), "add", str(tmp_path / "FooRequest.json")]) == 0
    assert (capsys.readouterr().out, files(specs)) == ("", after)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FOO.replace('"fields": []', '"fields": [{"name": "A", "type": "nosuch", "versions": "0+"}]'), "Foo.json:1:"),
        ("{}", "the message has no name"),
        ("{", "Foo.json"),
    ],
)
def test_what_is_no_definition_is_not_added(specs, tmp_path, text, said, capsys):
    (tmp_path / "Foo.json").write_text(text)
    before = files(specs)
    assert main(["--specs", str(specs), "add", str(tmp_path / "Foo.json")]) == 2
    assert said in capsys.readouterr().err
    assert files(specs) == before


@pytest.mark.parametrize("name", ["none.jar", "bad.jar", "bad.json"])
def test_what_can_not_be_imported_is_refused(specs, tmp_path, name, capsys):
    if name != "none.jar":
        (tmp_path / name).write_text("{")
    before = files(specs)
    assert main(["--specs", str(specs), "release", "4.5", str(tmp_path / name)]) == 2
    assert name in capsys.readouterr().err
    assert files(specs) == before
