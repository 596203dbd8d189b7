"""`kwire completion`: the script of each shell, and completion in a real bash."""

import shlex
import shutil
import subprocess
import sys

import pytest
from kit.commands import kwire

from kwire_cli.cli.completion import SETUP


@pytest.mark.parametrize("shell", SETUP)
def test_the_script_asks_kwire_and_ends_with_its_setup(shell):
    done = kwire("completion", shell)
    assert done.code == 0
    assert f"_KWIRE_COMPLETE={shell}_complete" in done.out
    assert done.out.splitlines()[-1] == SETUP[shell]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_a_name(tmp_path):
    program = tmp_path / "kwire"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m kwire_cli "$@"\n')
    program.chmod(0o755)
    code = f"""
        set -e
        script=$({program} completion bash)
        eval "$script"
        COMP_WORDS=(kwire decode --message Heart)
        COMP_CWORD=3
        _kwire_completion {program}
        echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "--norc", "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["HeartbeatRequest", "HeartbeatResponse"]
