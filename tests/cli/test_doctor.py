import importlib.util
import json
import re

import pytest
from command_line import ROOT, kwire

from kwire_cli.cli import doctor as doctor_module
from kwire_cli.cli.doctor import Finding, Need


def doctor(*options, **about):
    done = kwire("doctor", "-f", "json", *options, **about)
    return done, {(each["group"], each["name"]): each for each in json.loads(done.out)["tables"]["findings"]}


def test_all_is_well_here():
    done, found = doctor()
    assert done.code == 0, done.out
    assert json.loads(done.out)["facts"]["healthy"] is True
    assert found["libraries", "construct"]["state"] == "ok"
    assert " messages, " in found["kwire", "definitions"]["found"]
    assert all(each["how"] for each in found.values() if each["state"] != "ok")


def test_what_the_trials_import_is_there():
    there = {name for (_, name), each in doctor()[1].items() if each["state"] == "ok"}
    for name in there.intersection(need.name for need in doctor_module._needs()):
        assert importlib.util.find_spec(doctor_module.MODULES.get(name, name)), name


def test_the_three_formats_say_the_same():
    lines = [json.loads(line) for line in kwire("doctor", "-f", "jsonl").out.splitlines()]
    lines = [line for line in lines if line.pop("table") == "findings"]
    assert lines == json.loads(kwire("doctor", "-f", "json").out)["tables"]["findings"]
    table = kwire("doctor").out
    assert all(each["name"] in table and each["state"] in table and each["group"] in table for each in lines)


def test_what_is_absent_is_no_fault_and_what_is_broken_is():
    done, found = doctor(variables={"PATH": "/nowhere"})
    assert done.code == 0
    assert {name: each["state"] for (_, name), each in found.items() if _ == "programs"} == dict.fromkeys(
        ("java", "tcpdump", "dumpcap", "git"), "absent"
    )
    done, found = doctor(variables={"PATH": "/nowhere", "JAVA_HOME": "/no/such/java"})
    assert done.code == 1
    assert found["programs", "java"]["state"] == "broken"
    assert "has no bin/java" in found["programs", "java"]["found"]
    assert kwire("doctor", variables={"JAVA_HOME": "/no/such/java"}).code == 1


def test_an_old_java_is_broken(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch()
    (tmp_path / "release").write_text('JAVA_VERSION="11.0.2"\n')
    done, found = doctor(variables={"JAVA_HOME": str(tmp_path)})
    assert done.code == 1
    assert (found["programs", "java"]["state"], found["programs", "java"]["found"]) == ("broken", "11")


def test_a_definition_that_is_gone_is_broken(monkeypatch, tmp_path):
    monkeypatch.setattr("kwire_cli.spec.files.specs_folder", lambda: str(tmp_path))
    [*_, found] = doctor_module.itself()
    assert found.state == "broken"
    assert "missing" in found.found


def test_without_a_folder_for_machine_code_it_says_what_to_do(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr("kwire_cli.engine.numba_loops.cache_folder", lambda _: None)
    found = doctor_module._machine_code()
    assert found.state == "absent"
    assert "XDG_CACHE_HOME" in found.how


def test_an_extra_that_is_made_of_others_is_one_line(monkeypatch):
    needs = [Need("click", ">=8"), Need("click", ">=8", "tui"), Need("nothing-of-this-name", ">=1", "tls")]
    needs += [need._replace(extra="all") for need in needs[1:]]
    monkeypatch.setattr(doctor_module, "needs", lambda: iter(needs))
    _, found = doctor()
    assert found["kwire[tui]", "click"]["state"] == "ok"
    assert found["kwire[tls]", "nothing-of-this-name"]["how"] == "pip install 'kwire[tls]'"
    [union] = [each for (group, _), each in found.items() if group == "kwire[all]"]
    assert (union["state"], union["found"], union["how"]) == ("absent", "1 of 2", "pip install 'kwire[all]'")


def test_deep_tries_what_is_there(monkeypatch):
    asked = []

    def tried(unusable, told):
        asked.append(unusable)
        told("something")
        yield Finding("trials", "something", "broken", "it burns\x1b[2J", "all", "mend it")

    monkeypatch.setattr(doctor_module, "tried", tried)
    done = kwire("doctor", "--trials", terminal=True, variables={"PATH": "/nowhere"})
    assert done.code == 1
    assert "java" in asked[0]
    assert "trying: something" in done.err
    assert "\x1b[2J" not in done.out
    assert "it burns\\x1b[2J" in done.out


def test_the_page_names_what_the_doctor_looks_at():
    page = (ROOT / "docs" / "doctor.md").read_text("utf-8")
    [shown] = re.findall(r"```text\n\$ kwire doctor\n(.*?)```", page, re.DOTALL)
    now = kwire("doctor").out
    for line in shown.splitlines():
        if match := re.match(r"(\S+) +(\S+) +(?:ok|absent|broken)\b", line):
            group, name = map(re.escape, match.groups())
            assert re.search(rf"^{group} +({name}|\(unknown\)) +(ok|absent|broken)\b", now, re.MULTILINE), line
    assert all(f"`{name}`" in page for name in Finding._fields)
