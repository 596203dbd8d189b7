"""`kwire completion`: the scripts with which shells complete, printed or put where a shell looks for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwire_cli.cli.command import Group
from kwire_cli.cli.main import COMPLETES
from kwire_cli.cli.options import Output
from kwire_cli.cli.shells import SHELLS, script
from kwire_cli.cli.typed_options import Printing, argument, flag, takes
from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cli.cli.environment import Environment

EXAMPLES = (
    ("kwire completion install", "for the shell that you use"),
    ("kwire completion install zsh", "for another one"),
    ("kwire completion show fish", "the script, to put it elsewhere"),
)
NEXT = {
    "bash": "Open a new shell. If kwire dec<TAB> completes nothing, the package bash-completion is missing:\n"
    "install it, or add this line to ~/.bashrc:\n\n    source {file}",
    "zsh": "Add this line to ~/.zshrc, before any line with compinit, and open a new shell:\n\n"
    "    fpath=({folder} $fpath)\n\n"
    "If there is no line with compinit, add this one behind it:\n\n    autoload -Uz compinit && compinit",
    "fish": "Open a new shell.",
}
"""The next step of a person after installing, by shell."""


@click.group(name="completion", cls=Group, examples=EXAMPLES)
def command() -> None:
    """Complete commands, options, filters and names in bash, zsh and fish."""


@dataclass(frozen=True, kw_only=True)
class InstallOptions(Printing):
    """Options of `kwire completion install`."""

    shell: str | None = argument(type=click.Choice([*SHELLS]), required=False)
    force: bool = flag("--force", help="Overwrite a script that is not kwire's own.")


@command.command(name="install", short_help="Write the script where a shell looks for it.")
@takes(InstallOptions)
def install(environment: Environment, options: InstallOptions) -> None:
    """Write the script where a shell looks for it, and say what to do next.

    SHELL is by default the shell that the variable SHELL names. No other file is changed.
    """
    shell = options.shell or Path(environment.variables.get("SHELL", "")).name
    if shell not in SHELLS:
        name = f"the variable SHELL names {shell}" if shell else "the variable SHELL is not set"
        raise click.UsageError(f"{name}; say which shell: kwire completion install {'|'.join(SHELLS)}")
    file = file_of(shell, environment.variables)
    text = script(shell).encode()
    before = file.read_bytes() if file.exists() else b""
    if before == text:
        environment.write(f"{file} is up to date.")
        return
    if before and COMPLETES.encode() not in before and not options.force:
        raise InputError("is there already and not kwire's own; --force writes over it", file=str(file))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text)
    environment.write(f"Wrote {file}\n{NEXT[shell].format(file=file, folder=file.parent)}")


def file_of(shell: str, variables: Mapping[str, str]) -> Path:
    """Return the file in which a shell looks for the script. UsageError if there is no home folder."""
    if not (home := variables.get("HOME")):
        raise click.UsageError("the variable HOME is not set; kwire completion show prints the script")
    match shell:
        case "bash":
            data = Path(variables.get("XDG_DATA_HOME") or Path(home, ".local", "share"))
            folder = variables.get("BASH_COMPLETION_USER_DIR") or data / "bash-completion"
            return Path(folder, "completions", "kwire")
        case "fish":
            return Path(variables.get("XDG_CONFIG_HOME") or Path(home, ".config"), "fish", "completions", "kwire.fish")
        case _:
            return Path(home, ".zfunc", "_kwire")


@dataclass(frozen=True, kw_only=True)
class ShowOptions(Output):
    """Options of `kwire completion show`."""

    shell: str = argument(type=click.Choice([*SHELLS]))


@command.command(name="show", short_help="Print the script of a shell.")
@takes(ShowOptions)
def show(environment: Environment, options: ShowOptions) -> None:
    """Print the script of a shell, to put it elsewhere."""
    environment.write(script(options.shell).rstrip("\n"))
