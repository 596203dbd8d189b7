"""The review of pull requests: the action of GitHub in a real repository, the hooks of pre-commit, and the page."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from kit.commands import ROOT, kwire

ACTION = ROOT / ".github" / "actions" / "kwire"
PAGE = ROOT / "docs" / "changes.md"
SUMMARY = re.compile(r"(?<=^````markdown\n).*?(?=^````$)", re.MULTILINE | re.DOTALL)
REVISION = re.compile(r"\b[0-9a-f]{12}\b")
COMMIT = {
    **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "t"),
    **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "t@example.org"),
    **dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-11-22T00:00:00Z"),
    **dict.fromkeys(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"), os.devnull),
}
NAMES = ("HeartbeatRequest", "HeartbeatResponse", "MetadataRequest", "MetadataResponse")


def git(folder, *arguments):
    command = ["git", "-c", "init.defaultBranch=main", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=os.environ | COMMIT)


@pytest.fixture
def repository(tmp_path):
    """A shallow checkout of a branch that changes definitions, as in a pull request; its origin has main."""
    origin, checkout = tmp_path / "origin", tmp_path / "checkout"
    (origin / "specs").mkdir(parents=True)
    git(origin, "init", "-q")
    for name in NAMES:
        shutil.copy(ROOT / "specs" / f"{name}.json", origin / "specs")
    shutil.copy(ROOT / "samples" / "incidents" / "rebalancing.pcap", origin / "traffic.pcap")
    git(origin, "add", ".")
    git(origin, "commit", "-qm", "before")
    git(origin, "checkout", "-qb", "change")
    shutil.copy(ROOT / "samples" / "definitions" / "proposed" / "plain" / "MetadataResponse.json", origin / "specs")
    edit(
        origin, "HeartbeatResponse", '"name":"ThrottleTimeMs","type":"int32"', '"name":"ThrottleTimeMs","type":"int64"'
    )
    git(origin, "commit", "-qam", "change")
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=change", origin.as_uri(), checkout)
    return checkout


def edit(folder, name, old, new):
    file = folder / "specs" / f"{name}.json"
    pattern = re.sub(r"\\?([:,])", r"\\s*\1\\s*", re.escape(old))
    text, count = re.subn(pattern, new, file.read_text("utf-8"))
    assert count == 1
    file.write_text(text, "utf-8")


def reviewed(folder, **variables):
    """Run the program of the action; return its exit code, what it prints, and the files that it writes."""
    home = folder.parent
    files = {"GITHUB_STEP_SUMMARY": home / "summary.md", "GITHUB_OUTPUT": home / "outputs", "RUNNER_TEMP": home}
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "GITHUB_BASE_REF": "main"} | variables | COMMIT
    environment |= {name: str(path) for name, path in files.items()}
    command = [sys.executable, ACTION / "review.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, text=True, env=environment)
    assert not done.stderr, done.stderr
    outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text("utf-8").splitlines())
    return done.returncode, done.stdout, files["GITHUB_STEP_SUMMARY"].read_text("utf-8"), outputs


def test_the_action_reviews_a_pull_request_as_the_page_says(repository):
    code, out, summary, outputs = reviewed(repository, KWIRE_DEFINITIONS="specs", KWIRE_TRAFFIC="traffic.pcap\n")
    assert (code, outputs["breaks"], outputs["errors"]) == (1, "1", "0")
    [line] = out.splitlines()
    assert line.startswith("::error file=specs/HeartbeatResponse.json,line=")
    for name, results in (("breaking", ["TYPE_CHANGED"]), ("lint", [])):
        [run] = json.loads(Path(outputs["sarif"], f"{name}.sarif").read_text("utf-8"))["runs"]
        assert [result["ruleId"] for result in run["results"]] == results
    page, told = PAGE.read_text("utf-8"), REVISION.sub("1fb284bb0ad2", summary.strip()) + "\n"
    assert told != summary
    parts = SUMMARY.search(page)[0].strip().split("\n\n")
    assert [part for part in parts if f"{part}\n" not in told] == []


@pytest.mark.slow
def test_traffic_is_read_by_the_definitions_of_before(repository):
    """Apis that kwire does not know have a price too."""
    origin, definitions = repository.parent / "origin", ROOT / "samples" / "definitions"
    git(origin, "checkout", "-q", "main")
    shutil.copytree(definitions / "before", origin / "leases")
    git(origin, "add", ".")
    git(origin, "commit", "-qm", "leases")
    git(repository, "fetch", "-q", "--depth=1", "origin", "main")
    git(repository, "reset", "-q", "--hard", "FETCH_HEAD")
    shutil.copy(definitions / "after" / "LeaseRequest.json", repository / "leases")
    request = {"api": "Lease", "apiVersion": 2, "kind": "request", "header": {"correlationId": 7, "clientId": "c"}}
    document = json.dumps(request | {"body": {"holder": "h", "zones": []}})
    done = kwire("encode", "--specs", definitions / "before", stdin=document.encode())
    assert done.code == 0, done.err
    (repository / "frames.hex").write_text(done.out)
    code, _, summary, _ = reviewed(repository, KWIRE_DEFINITIONS="leases", KWIRE_TRAFFIC="frames.hex")
    assert (code, "traffic, version 2 -> 3: 1 message, 4 -> 8 bytes (+4, +100.0 %)" in summary) == (0, True), summary


@pytest.mark.slow
def test_a_definition_that_cannot_be_read_is_told_by_the_rules(repository):
    edit(repository, "HeartbeatResponse", '"type":"int16"', '"type":"int17"')
    code, out, summary, outputs = reviewed(repository, KWIRE_DEFINITIONS="specs", KWIRE_BASE="main")
    assert (code, outputs["errors"]) == (2, "1")
    assert [line.partition(" ")[0] for line in out.splitlines()] == ["::error", "::error::kwire:"]
    assert "| FIELD_TYPE_UNKNOWN |" in summary


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"KWIRE_DEFINITIONS": " \n"}, "the input definitions is empty"),
        ({"KWIRE_DEFINITIONS": "specs", "KWIRE_BASE": "nowhere"}, "no revision nowhere"),
    ],
)
def test_what_the_action_lacks_is_an_error(repository, variables, said):
    (repository.parent / "summary.md").touch()
    (repository.parent / "outputs").touch()
    code, out, _, _ = reviewed(repository, **variables)
    assert (code, out.startswith("::error::"), said in out) == (2, True, True)


@pytest.mark.slow
def test_the_action_runs_no_python_of_the_checkout(repository, tmp_path):
    ran = tmp_path / "ran"
    for name in ("kwire_cli", "pip", "click", "json", "tarfile"):
        (repository / name).mkdir()
        for file in ("__init__.py", "__main__.py"):
            (repository / name / file).write_text(f"open({str(ran)!r}, 'w')\n")
    code, out, _, outputs = reviewed(repository, KWIRE_DEFINITIONS="specs")
    assert (code, outputs["breaks"], "::error file=" in out) == (1, "1", True)
    *_, install, _ = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))["runs"]["steps"]
    variables = {
        "PATH": os.environ["PATH"],
        "PYTHON": sys.executable,
        "KWIRE": "/nowhere",
        "RUNNER_TEMP": str(tmp_path),
    }
    subprocess.run(["bash", "-c", install["run"]], cwd=repository, env=variables, capture_output=True, check=False)
    assert not ran.exists()


def test_the_action_hands_over_each_input():
    action = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))
    *_, install, review = action["runs"]["steps"]
    given = {name: value for name, value in review["env"].items() if name.startswith("KWIRE_")}
    assert given == {
        f"KWIRE_{name.upper()}": f"${{{{ inputs.{name} }}}}" for name in action["inputs"] if name != "kwire"
    }
    assert install["env"]["KWIRE"] == "${{ inputs.kwire }}"
    assert set(re.findall(r"KWIRE_\w+", (ACTION / "review.py").read_text("utf-8"))) == {*given}
    told = re.findall(r'"GITHUB_OUTPUT", f"(\w+)=', (ACTION / "review.py").read_text("utf-8"))
    assert {*told} == {*action["outputs"]}
    page = PAGE.read_text("utf-8").partition("### The action\n")[2].partition("\n### SARIF")[0]
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == [*action["inputs"], *action["outputs"]]
    assert (ACTION / ".." / ".." / ".." / "pyproject.toml").is_file()  # what the action installs


def test_the_hooks_check_files_that_change(repository, monkeypatch):
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    [text] = re.findall(r"^    repos:\n(?:    .*\n)+", PAGE.read_text("utf-8"), re.MULTILINE)
    [used] = yaml.safe_load(re.sub("^    ", "", text, flags=re.MULTILINE))["repos"]
    assert [hook["id"] for hook in used["hooks"]] == [*hooks]
    git(repository, "fetch", "-q", "--depth=1", "origin", "main:refs/remotes/origin/main")
    monkeypatch.chdir(repository)
    changed, codes = ("specs/HeartbeatResponse.json", "specs/MetadataResponse.json", "traffic.pcap"), []
    for hook in used["hooks"]:
        files = [name for name in changed if re.search(hook["files"], name)]
        entry = shlex.split(hooks[hook["id"]]["entry"])
        codes.append(kwire(*entry[1:], *hook.get("args", []), *files).code)
    assert codes == [0, 1]


def test_the_page_names_the_repository_as_the_project_does(updating):
    url = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Repository"]
    owner = url.removeprefix("https://github.com/").removesuffix("/kwire")
    text = PAGE.read_text("utf-8")
    now = re.sub(
        r"(?<=uses: )\S+(?=/kwire/\.github/)|(?<=repo: https://github.com/)\S+(?=/kwire$)",
        owner,
        text,
        flags=re.MULTILINE,
    )
    if updating:
        PAGE.write_text(now, "utf-8")
    assert PAGE.read_text("utf-8") == now
    assert now.count(f"{owner}/kwire") == 2
    assert ("OWNER stands for" in now) == (owner == "OWNER")
