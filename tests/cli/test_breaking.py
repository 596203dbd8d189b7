"""kwire breaking: where it reads definitions from; what it prints is in golden/breaking.txt."""

import json
import re
import subprocess
import zipfile

from kit.commands import ROOT, kwire, lines_of

BEFORE, AFTER = (ROOT / "samples" / "definitions" / when for when in ("before", "after"))


def test_what_is_gone_is_marked_where_it_was(tmp_path, monkeypatch):
    (tmp_path / "specs").mkdir()
    for file in BEFORE.iterdir():
        (tmp_path / "specs" / file.name).write_text(file.read_text())
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "before"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "specs" / "LeaseRequest.json").unlink()
    monkeypatch.chdir(tmp_path)
    [line] = kwire("breaking", "--against", "HEAD:specs", "specs", "-f", "github").out.splitlines()
    assert line.startswith("::error file=specs/LeaseRequest.json,line=")


def test_what_is_below_the_level_breaks_nothing():
    done = kwire("breaking", BEFORE / "LeaseRequest.json", AFTER / "LeaseRequest.json")
    assert (done.code, done.out) == (0, "")
    assert done.err == "nothing breaks; 1 advice not shown: --level advice\n"
    assert kwire("breaking", BEFORE / "LeaseRequest.json", AFTER / "LeaseRequest.json", "--level", "advice").code == 1


def test_a_release_is_several_jars(tmp_path):
    for when, folder in (("old", BEFORE), ("new", AFTER)):
        for file in folder.iterdir():
            with zipfile.ZipFile(tmp_path / f"{when}-{file.stem}.jar", "w") as archive:
                archive.writestr(f"common/message/{file.name}", file.read_text())
    news = [tmp_path / f"new-{name}.jar" for name in ("LeaseRequest", "LeaseResponse")]
    olds = [part for name in ("LeaseRequest", "LeaseResponse") for part in ("--against", tmp_path / f"old-{name}.jar")]
    done = kwire("breaking", *news, *olds, "-f", "jsonl")
    assert [json.loads(line)["rule"] for line in done.out.splitlines()] == [
        line["rule"] for line in lines_of("breaking", BEFORE, AFTER)
    ]
    assert "new-LeaseResponse.jar!common/message/LeaseResponse.json" in done.out
    assert "MESSAGE_REMOVED" in kwire("breaking", news[0], *olds).out


def test_what_is_wrong_with_the_new_definition_itself_is_noted(tmp_path):
    field = {"name": "A", "type": "int8", "versions": "0+", "tag": 1, "taggedVersions": "0+"}
    document = {"name": "Test", "type": "data", "validVersions": "0", "flexibleVersions": "0+"}
    for name, fields in (("old", []), ("new", [field])):
        (tmp_path / f"{name}.json").write_text(json.dumps(document | {"fields": fields}))
    done = kwire("breaking", tmp_path / "old.json", tmp_path / "new.json")
    assert (done.code, done.out) == (0, "")
    note, summary = done.err.splitlines()
    assert re.search(r"new\.json: TAG_\w+ Test\.A\.tag: ", note)
    assert note.endswith("; kwire lint says all")
    assert summary == "nothing breaks"
