"""`kwire completion`: scripts where shells look for them, and nothing of others written over."""

import re

import pytest
from command_line import ROOT, kwire

from kwire_cli.cli.completion import EXAMPLES
from kwire_cli.cli.shells import SHELLS, script

PLACES = {
    "bash": ".local/share/bash-completion/completions/kwire",
    "zsh": ".zfunc/_kwire",
    "fish": ".config/fish/completions/kwire.fish",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_written_where_the_shell_looks_for_it(shell, tmp_path):
    variables = {"HOME": str(tmp_path), "SHELL": f"/usr/bin/{shell}"}
    done = kwire("completion", "install", variables=variables)
    file = tmp_path / PLACES[shell]
    assert done.code == 0
    assert done.out.startswith(f"Wrote {file}\n")
    assert file.read_text() == script(shell) == kwire("completion", "show", shell).out
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]
    again = kwire("completion", "install", shell, variables=variables)
    assert (again.code, again.out) == (0, f"{file} is up to date.\n")


def test_the_next_step_is_told(tmp_path):
    variables = {"HOME": str(tmp_path)}
    assert f"fpath=({tmp_path}/.zfunc $fpath)" in kwire("completion", "install", "zsh", variables=variables).out
    assert f"source {tmp_path}/{PLACES['bash']}" in kwire("completion", "install", "bash", variables=variables).out


def test_folders_of_the_environment_come_first(tmp_path):
    variables = {"HOME": "/nowhere", "XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path)}
    kwire("completion", "install", "bash", variables=variables)
    kwire("completion", "install", "fish", variables=variables)
    assert (tmp_path / "data/bash-completion/completions/kwire").exists()
    assert (tmp_path / "fish/completions/kwire.fish").exists()
    kwire("completion", "install", "bash", variables={**variables, "BASH_COMPLETION_USER_DIR": str(tmp_path / "own")})
    assert (tmp_path / "own/completions/kwire").exists()


def test_an_older_script_is_replaced_and_a_foreign_one_only_by_force(tmp_path):
    variables, file = {"HOME": str(tmp_path)}, tmp_path / PLACES["fish"]
    file.parent.mkdir(parents=True)
    file.write_text("env _KWIRE_COMPLETE=fish_complete kwire\n")
    assert kwire("completion", "install", "fish", variables=variables).code == 0
    file.write_bytes(b"complete -c kwire -a \xff")
    refused = kwire("completion", "install", "fish", variables=variables)
    assert refused.code == 2
    assert "--force" in refused.err
    assert file.read_bytes() == b"complete -c kwire -a \xff"
    assert kwire("completion", "install", "fish", "--force", variables=variables).code == 0
    assert file.read_text() == script("fish")


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"SHELL": "/bin/tcsh", "HOME": "/nowhere"}, "the variable SHELL names tcsh; say which shell"),
        ({"HOME": "/nowhere"}, "the variable SHELL is not set; say which shell"),
        ({"SHELL": "/bin/zsh"}, "the variable HOME is not set; kwire completion show prints the script"),
    ],
)
def test_an_unknown_place_is_an_error(variables, reason):
    done = kwire("completion", "install", variables=variables)
    assert done.code == 2
    assert reason in done.err


@pytest.mark.parametrize("line", [example[0] for example in EXAMPLES])
def test_an_example_runs_in_a_home_folder(line, tmp_path):
    assert kwire(*line.split()[1:], variables={"HOME": str(tmp_path), "SHELL": "bash"}).code == 0


def test_the_page_says_where_scripts_go():
    text = (ROOT / "docs" / "completion.md").read_text("utf-8")
    assert dict(re.findall(r"^\| (\w+) \| `~/(\S+)` \|", text, re.MULTILINE)) == PLACES
