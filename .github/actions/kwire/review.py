"""Review changed message definitions in a GitHub workflow: annotations, the job summary, and SARIF.

The inputs are the variables KWIRE_DEFINITIONS, KWIRE_BASE, KWIRE_LEVEL, KWIRE_EXCEPT, KWIRE_RULES and KWIRE_TRAFFIC,
which action.yml describes. Exits with 1 if there is a break or an error, and with 2 if something cannot be read.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, NoReturn

from kwire_cli.view.markdown import marked
from kwire_cli.view.marks import escape_command


def lines(name: str) -> list[str]:
    """Return the lines of an environment variable, without empty lines."""
    return [line.strip() for line in os.environ.get(name, "").splitlines() if line.strip()]


def repeated(option: str, values: list[str]) -> list[str]:
    """Return arguments with the option before each value."""
    return [part for value in values for part in (option, value)]


def fail(text: str) -> NoReturn:
    """Print an error as GitHub shows it, and exit."""
    print("::error::" + escape_command(text.strip()))
    sys.exit(2)


def git(*arguments: str) -> str:
    """Return the output of git, an empty text if git fails."""
    done = subprocess.run(["git", *arguments], capture_output=True, check=False, text=True)
    return "" if done.returncode else done.stdout.strip()


def base() -> str:
    """Return the commit to compare with. Fetch it if a shallow checkout lacks it."""
    named, branch = os.environ.get("KWIRE_BASE", "").strip(), os.environ.get("GITHUB_BASE_REF", "")
    revision = named or (f"origin/{branch}" if branch else "HEAD~1")
    if not git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"):
        if named:
            git("fetch", "--quiet", "--no-tags", "--depth=1", "origin", named)
            revision = "FETCH_HEAD"
        elif branch:
            git("fetch", "--quiet", "--no-tags", "--depth=1", "origin", f"+refs/heads/{branch}:refs/remotes/{revision}")
        else:
            git("fetch", "--quiet", "--no-tags", "--deepen=1", "origin")
    # Compare with the merge base: later commits of the target are not changes of the branch. If a shallow checkout has
    # no merge base, HEAD is a merge of the branch and the target, so the target itself is the base.
    since = git("merge-base", revision, "HEAD") or git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if not since:
        fail(f"no revision {named or revision} to compare with: set the input base")
    return git("rev-parse", "--short=12", since)


def written(since: str, paths: list[str], folder: Path) -> list[str]:
    """Write files of a commit into a folder, and return their paths there."""
    archive = subprocess.run(["git", "archive", since, "--", *paths], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return [str(folder / path) for path in paths]


def kwire(*arguments: str) -> tuple[str, str]:
    """Return the output of kwire, and its notes. Nothing is imported from the checkout, which anyone can write."""
    command = [sys.executable, "-P", "-m", "kwire_cli", *arguments]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    return (done.stdout, done.stderr.strip()) if done.returncode in {0, 1} else fail(done.stderr)


def told(variable: str, text: str) -> None:
    """Append text to the file that one of GitHub's variables names."""
    with Path(os.environ[variable]).open("a", encoding="utf-8") as file:
        file.write(text)


def reviewed(sarif: Path, *command: str) -> list[Any]:
    """Print the annotations of a command, write its summary and its SARIF log, and return its results."""
    print(kwire(*command, "--format", "github")[0], end="", flush=True)
    text, _ = kwire(*command, "--format", "sarif")
    (sarif / f"{command[0]}.sarif").write_text(text, "utf-8")
    table, note = kwire(*command, "--format", "markdown")
    told("GITHUB_STEP_SUMMARY", f"{table}\n{marked(note)}\n\n")
    return list(json.loads(text)["runs"][0]["results"])


def main() -> int:
    """Review the definitions, and return the exit code."""
    definitions = lines("KWIRE_DEFINITIONS") or fail("the input definitions is empty: give folders or files")
    sarif = Path(os.environ["RUNNER_TEMP"]) / "kwire-sarif"
    sarif.mkdir(exist_ok=True)
    told("GITHUB_OUTPUT", f"sarif={sarif}\n")
    since = base()
    told("GITHUB_STEP_SUMMARY", f"# Message definitions since {since}\n\n")
    there = [path for path in definitions if git("cat-file", "-t", f"{since}:{path}")]
    against = repeated("--against", [f"{since}:{path}" for path in there])
    # lint runs first: it explains definitions that the other commands cannot read.
    findings = reviewed(sarif, "lint", *definitions, *against, *repeated("--rules", lines("KWIRE_RULES")))
    errors = sum(finding["level"] == "error" for finding in findings)
    told("GITHUB_OUTPUT", f"errors={errors}\n")
    breaks = []
    if there:
        level, allowed = os.environ.get("KWIRE_LEVEL") or "tagged", repeated("--except", lines("KWIRE_EXCEPT"))
        breaks = reviewed(sarif, "breaking", *there, *against, "--level", level, *allowed)
    told("GITHUB_OUTPUT", f"breaks={len(breaks)}\n")
    traffic = repeated("--traffic", lines("KWIRE_TRAFFIC"))
    if traffic and there:  # the traffic was written with the old definitions
        traffic += repeated("--specs", written(since, there, sarif.with_name("kwire-before")))
    for path in there:
        told("GITHUB_STEP_SUMMARY", kwire("diff", f"{since}:{path}", path, *traffic, "--format", "markdown")[0] + "\n")
    return 1 if breaks or errors else 0


if __name__ == "__main__":
    sys.exit(main())
