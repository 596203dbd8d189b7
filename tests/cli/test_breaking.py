"""kwire breaking: its formats, and where it reads definitions from; what it prints is in golden/breaking.txt."""

import json
import re
import subprocess
import zipfile
from xml.etree import ElementTree as ET

from kit.commands import ROOT, kwire

BEFORE, AFTER = (ROOT / "samples" / "definitions" / when for when in ("before", "after"))


def test_junit_has_a_case_for_each_message_and_a_failure_for_each_break():
    done = kwire("breaking", BEFORE, AFTER, "-f", "junit", "--level", "advice")
    suites = ET.fromstring(done.raw)
    found = json.loads(kwire("breaking", BEFORE, AFTER, "-f", "json", "--level", "advice").out)["tables"]["breaks"]
    assert done.code == 1
    assert [case.get("name") for case in suites.iter("testcase")] == ["LeaseRequest", "LeaseResponse"]
    assert [failure.get("type") for failure in suites.iter("failure")] == [each["rule"] for each in found]
    for element in (suites, suites[0]):
        assert (element.get("tests"), element.get("failures")) == ("2", str(len(found)))


def test_github_marks_lines():
    lines = kwire("breaking", BEFORE, AFTER, "-f", "github", "--level", "advice").out.splitlines()
    assert {line.split(" ", 1)[0] for line in lines} == {"::error", "::notice"}
    assert all(line.count("::") == 2 and "\n" not in line for line in lines)
    [widened] = [line for line in lines if "TAG_WIDENED" in line]
    assert "after/LeaseResponse.json,line=13,col=116,title=TAG_WIDENED (wire)::" in widened
    assert "%0A" in widened


def test_sarif_has_what_breaks_and_the_rules(tmp_path):
    done = kwire("breaking", BEFORE, AFTER, "-o", tmp_path / "breaks.sarif", "--level", "advice")
    [run] = json.loads((tmp_path / "breaks.sarif").read_text())["runs"]
    assert done.code == 1
    lines = kwire("breaking", BEFORE, AFTER, "-f", "jsonl", "--level", "advice").out.splitlines()
    for row, result in zip(map(json.loads, lines), run["results"], strict=True):
        assert (result["ruleId"], result["level"]) == (row["rule"], "note" if row["severity"] == "advice" else "error")
        region = result["locations"][0]["physicalLocation"]["region"]
        assert (region["startLine"], region["startColumn"]) == (row["line"], row["column"])
        assert row["what"] in result["message"]["text"]
    assert all(rule["help"]["markdown"] for rule in run["tool"]["driver"]["rules"])


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
        json.loads(line)["rule"] for line in kwire("breaking", BEFORE, AFTER, "-f", "jsonl").out.splitlines()
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
