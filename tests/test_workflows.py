"""What makes a release: workflows, of which only the scripts are run here, and the container file."""

import re
import shutil
import subprocess
import tomllib

import pytest
import yaml
from kit.commands import ROOT

WORKFLOWS = {path.stem: path for path in (ROOT / ".github" / "workflows").iterdir()}
CONTAINER = ROOT / ".ci" / "Containerfile"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def jobs(name):
    return yaml.safe_load(WORKFLOWS[name].read_text("utf-8"))["jobs"]


def steps():
    """The steps of all workflows and of the action, each with where it stands."""
    for name in WORKFLOWS:
        for job, about in jobs(name).items():
            yield from ((f"{name} {job}", step) for step in about["steps"])
    action = ROOT / ".github" / "actions" / "kwire" / "action.yml"
    yield from (("action", step) for step in yaml.safe_load(action.read_text("utf-8"))["runs"]["steps"])


def script(name, job, step):
    [found] = [each["run"] for each in jobs(name)[job]["steps"] if each.get("name") == step]
    return found


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_read_and_ends(name):
    workflow = yaml.safe_load(WORKFLOWS[name].read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        assert "write" not in str(job.get("permissions", "")) or job["permissions"].keys() <= {
            "contents", "id-token", "security-events"
        }  # fmt: skip


def test_steps_use_versions_and_no_text_of_others_in_scripts():
    for where, step in steps():
        assert ("uses" in step) != ("run" in step), where
        uses = step.get("uses", "")
        assert not uses or uses.startswith("./.github/actions/") or re.search(r"@(v\d+|release/v1)$", uses), uses
        assert "${{" not in step.get("run", ""), where  # a name of a branch is no command


def test_workflows_name_what_is_there():
    for where, step in steps():
        run, uses = step.get("run", ""), step.get("uses", "")
        for path in re.findall(r"(?<!\S)(?:\.ci|tests|samples|\.github)/[\w./-]+", run):
            assert (ROOT / path).exists(), (where, path)
        assert not uses.startswith("./") or (ROOT / uses / "action.yml").is_file()
    assert "${PYTHON:-python3}" in (ROOT / ".ci" / "run").read_text("utf-8")
    assert "KWIRE_INSTALL" in (ROOT / "tests" / "test_package.py").read_text("utf-8")


def test_each_python_is_checked():
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    ci = jobs("ci")
    assert ci["check"]["strategy"]["matrix"]["python"] == named
    [setup] = [step for step in ci["install"]["steps"] if "setup-python" in step.get("uses", "")]
    assert setup["with"]["python-version"].split() == named
    assert f">={named[0]}" == PROJECT["requires-python"]


@pytest.mark.parametrize(
    ("tag", "heading", "owner", "code"),
    [
        ("v{}", "## [{}] - 2026-12-01", "someone", 0),
        ("v{}", "## [Unreleased]", "someone", 1),
        ("v9.9.9", "## [{}] - 2026-12-01", "someone", 1),
        ("v{}", "## [{}] - 2026-12-01", "OWNER", 1),
    ],
)
def test_a_tag_is_released_if_version_changelog_and_owner_are_named(tag, heading, owner, code, tmp_path):
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    project, count = re.subn(r"(?<=https://github.com/)[^/]+(?=/kwire)", owner, project)
    assert count == 1
    (tmp_path / "pyproject.toml").write_text(project, "utf-8")
    text = f"# Changelog\n\n{heading}\n\n### Added\n\n- One.\n\n## [0.0.9] - 2026-01-01\n\n- Two.\n"
    (tmp_path / "CHANGELOG.md").write_text(text.format(PROJECT["version"]), "utf-8")
    variables = {"PATH": "/usr/bin:/bin", "GITHUB_REF_NAME": tag.format(PROJECT["version"])}
    check = script("release", "build", "The tag is the version, and the changelog has it")
    done = subprocess.run(["bash", "-e", "-c", check], cwd=tmp_path, env=variables, capture_output=True, check=False)
    assert (done.returncode, done.stdout.startswith(b"::error::")) == (code, bool(code))


def test_a_release_tells_its_own_changes(tmp_path):
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## [0.2.0] - 2026-12-01\n\n- One.\n\n## [0.1.0] - x\n\n- Two.\n"
    )
    (tmp_path / "gh").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "gh").chmod(0o755)
    variables = {"PATH": f"{tmp_path}:/usr/bin:/bin", "GITHUB_REF_NAME": "v0.2.0"}
    publish = script("release", "github", "A release on GitHub with the changes")
    done = subprocess.run(["bash", "-e", "-c", publish], cwd=tmp_path, env=variables, capture_output=True, check=True)
    assert done.stdout.startswith(b"release create v0.2.0 --verify-tag --title kwire 0.2.0 ")
    assert (tmp_path / "notes.md").read_text().split() == ["-", "One."]


@pytest.mark.skipif(not shutil.which("actionlint"), reason="there is no actionlint")
def test_workflows_are_valid():
    done = subprocess.run(["actionlint", *WORKFLOWS.values()], capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stdout


def test_the_container_runs_kwire_without_rights():
    text = CONTAINER.read_text("utf-8")
    lines = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    *_, last = [number for number, line in enumerate(lines) if line.startswith("FROM ")]
    final = lines[last:]
    assert 'ENTRYPOINT ["kwire"]' in final
    [user] = [line for line in final if line.startswith("USER ")]
    assert user == "USER 1000:1000"
    assert final.index(user) > max(number for number, line in enumerate(final) if line.startswith(("RUN ", "COPY ")))
    assert all(re.search(r":3\.\d+-slim\b", line) for line in lines if line.startswith("FROM "))
    assert "setcap cap_net_raw=ep /usr/bin/tcpdump" in text
    [extras] = re.findall(r"\.\[(.*?)\]", text)
    assert {*extras.split(",")} == {*PROJECT["optional-dependencies"]} - {"all", "spark"}
    # What is copied is what an archive of the sources has.
    copied = {name for line in lines for name in re.findall(r"^COPY ([^-].*) \S+$", line) for name in name.split()}
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert {f"/{name}" for name in copied} == {*build["sdist"]["include"], "/pyproject.toml"}


@pytest.mark.skipif(not shutil.which("hadolint"), reason="there is no hadolint")
def test_the_container_file_is_linted():
    done = subprocess.run(["hadolint", CONTAINER], capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stdout
