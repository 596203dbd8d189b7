"""Definitions from files, folders, jars and git revisions."""

import json
import subprocess
import zipfile

import pytest
from evolution_cases import A, message

from kwire_cli.errors import InputError, SpecError
from kwire_cli.spec.evolution.sources import holds_definitions, is_revision, read_definitions


@pytest.fixture
def folder(tmp_path):
    """A folder with two definitions, and with files that are none."""
    specs = tmp_path / "specs"
    specs.mkdir()
    for name in ("One", "Two"):
        (specs / f"{name}.json").write_text(f"// a comment\n{json.dumps(message(A, name=name))}")
    (specs / "index.json").write_text(json.dumps({"messages": [{"validVersions": "0"}]}))
    (specs / "notes.txt").write_text("none")
    return specs


@pytest.fixture
def repository(folder, monkeypatch):
    """The folder in a git repository, its first revision tagged; one definition is gone since."""
    root = folder.parent
    names = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for command in (
        ["init", "-q"],
        ["add", "."],
        [*names, "commit", "-qm", "first"],
        ["tag", "v1"],
        ["rm", "-q", "specs/Two.json"],
    ):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)
    subprocess.run(["git", *names, "commit", "-qm", "second"], cwd=root, check=True)
    monkeypatch.chdir(root)
    return root


def test_a_folder_gives_its_definitions_and_nothing_else(folder):
    found = read_definitions([str(folder)])
    assert [*found] == ["One", "Two"]
    assert found["One"].spec.file == str(folder / "One.json")
    assert found["One"].place().line == 2


def test_without_definitions_of_its_own_those_below_it_count(folder):
    assert [*read_definitions([str(folder.parent)])] == ["One", "Two"]
    (folder / "old").mkdir()
    (folder / "old" / "One.json").write_text(json.dumps(message(name="One")))
    assert [*read_definitions([str(folder)])] == ["One", "Two"]


def test_a_jar(tmp_path):
    jar = tmp_path / "kafka.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("common/message/One.json", json.dumps(message(A, name="One")))
        archive.writestr("elsewhere/Two.json", json.dumps(message(A, name="Two")))
    found = read_definitions([str(jar)])
    assert [*found] == ["One"]
    assert found["One"].spec.file == f"{jar}!common/message/One.json"
    assert holds_definitions(str(jar))


def test_git_revisions(repository, monkeypatch):
    assert [*read_definitions(["v1:specs"])] == ["One", "Two"]
    assert [*read_definitions(["HEAD:specs"])] == ["One"]
    assert read_definitions(["v1:specs/Two.json"])["Two"].spec.file == "v1:specs/Two.json"
    assert [*read_definitions(["v1:"])] == ["One", "Two"]
    monkeypatch.chdir(repository / "specs")
    assert [*read_definitions(["v1:./"])] == ["One", "Two"]
    assert [*read_definitions(["v1:specs"])] == ["One", "Two"]  # from the top, wherever one is


@pytest.mark.parametrize("place", ["v1:nowhere", "nothing:specs", "v1:specs/notes.txt/x", "--help:x"])
@pytest.mark.usefixtures("repository")
def test_what_git_does_not_have(place):
    with pytest.raises(InputError, match="git"):
        read_definitions([place])


def test_without_git(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="git command, which reads revisions, cannot be run"):
        read_definitions(["HEAD:specs"])


def test_bytes_in_hex_are_no_revision():
    assert not is_revision("00:12:ab")
    assert not is_revision("0012")
    assert is_revision("HEAD~1:specs")


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "nowhere", "00:12", ""])
def test_what_is_no_path_holds_nothing(name):
    assert not holds_definitions(name)


def test_an_empty_argument_is_not_the_folder_one_is_in(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert not holds_definitions("")
    with pytest.raises(InputError, match="names no file"):
        read_definitions([""])


def test_what_can_not_be_read(tmp_path, folder):
    with pytest.raises(InputError, match="no such file"):
        read_definitions([str(tmp_path / "nowhere")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no message definition here"):
        read_definitions([str(tmp_path / "empty")])
    (folder / "Three.json").write_text('{"name": "Three", "validVersions": "0-1",')
    with pytest.raises(SpecError, match=r"Three.json:1:\d+"):
        read_definitions([str(folder)])


def test_a_message_is_defined_once(folder):
    (folder / "Again.json").write_text(json.dumps(message(name="One")))
    with pytest.raises(InputError, match=r"One is defined here and in .*Again\.json"):
        read_definitions([str(folder)])


def test_places_are_found_through_common_structs(tmp_path):
    text = """{"name": "M", "type": "data", "validVersions": "0", "flexibleVersions": "none", "fields": [
      {"name": "P", "type": "[]Part", "versions": "0"}],
      "commonStructs": [{"name": "Part", "versions": "0", "fields": [
        {"name": "A", "type": "int8", "versions": "0",
         "default": "1"}]}]}"""
    file = tmp_path / "M.json"
    file.write_text(text)
    given = read_definitions([str(file)])["M"]
    assert [
        given.place(*where).line
        for where in (("p",), ("p[].a",), ("p[].a", "default"), ("p[].gone",), ("", "commonStructs"))
    ] == [2, 4, 5, 2, 3]
