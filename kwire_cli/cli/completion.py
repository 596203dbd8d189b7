"""`kwire completion`: click's script that completes commands, options and names in a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from kwire_cli.cli.command import Command
from kwire_cli.cli.typed_options import Printing, argument, takes

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment

EXAMPLES = (
    ("kwire completion bash", "the script for bash, and the line for ~/.bashrc"),
    ("kwire completion zsh", "the same for zsh and ~/.zshrc"),
    ("kwire completion fish", "the same for fish and its config.fish"),
)
SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
SETUP = {
    "bash": """# Add to ~/.bashrc: eval "$(kwire completion bash)\"""",
    "zsh": """# Add to ~/.zshrc, after compinit: eval "$(kwire completion zsh)\"""",
    "fish": "# Add to ~/.config/fish/config.fish: kwire completion fish | source",
}
"""How to set up completion, by shell."""


class Options(Printing):
    """Options of `kwire completion`."""

    shell: str = argument(type=click.Choice([*SHELLS]))


@click.command(name="completion", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> None:
    """Print the script that completes commands, options, files and names in bash, zsh or fish.

    The last line of the script says how to set it up.
    """
    root = click.get_current_context().find_root().command
    environment.write(SHELLS[options.shell](root, {}, "kwire", "_KWIRE_COMPLETE").source())
    environment.write(SETUP[options.shell])
