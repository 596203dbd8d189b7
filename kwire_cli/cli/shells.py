"""Shells and how they complete: their scripts, and how what was typed goes to kwire and back.

Scripts call kwire with `_KWIRE_COMPLETE=bash_complete` and what was typed so far. They differ from click's own: bash
hands over the line as it was typed, so that quotes, `--option=value` and `:` are understood; in fish a comma in a word
stays; `--option=value` is completed in all of them.
"""

from __future__ import annotations

import os
import re
import shlex
from typing import Any

from click.shell_completion import BashComplete, FishComplete, ZshComplete, add_completion_class

from kwire_cli.cli.main import COMPLETES, cli

_SPECIAL = re.compile(r"[\s'\"\\=!<>()&|;~*?$`#]")
"""Characters that have a meaning in a shell outside quotes."""

_BASH = """\
# Completion of %(prog_name)s for bash, written by kwire completion.
%(complete_func)s() {
    local IFS=$'\\n' response completion type value
    response=$(env %(complete_var)s=bash_complete _KWIRE_LINE="${COMP_LINE:0:COMP_POINT}" _KWIRE_WORD="$2" "$1")
    COMPREPLY=()
    while IFS=',' read -r type value; do
        if [[ $type == 'file' ]]; then
            compopt -o default
        elif [[ $type == 'dir' ]]; then
            compopt -o dirnames
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=("$value")
        fi
    done <<< "$response"
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""
_ZSH = ZshComplete.source_template.replace(
    "#compdef %(prog_name)s\n",
    "#compdef %(prog_name)s\n# Completion of %(prog_name)s for zsh, written by kwire completion.\n",
)
_FISH = """\
# Completion of %(prog_name)s for fish, written by kwire completion.
function %(complete_func)s
    set -l response (env %(complete_var)s=fish_complete _KWIRE_LINE=(commandline -cp | string collect) \
%(prog_name)s)
    for completion in $response
        set -l metadata (string split -m 1 "," -- $completion)
        if test $metadata[1] = "dir"
            __fish_complete_directories $metadata[2]
        else if test $metadata[1] = "file"
            __fish_complete_path $metadata[2]
        else if test $metadata[1] = "plain"
            echo $metadata[2]
        end
    end
end
complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


def split(line: str) -> tuple[list[str], str]:
    """Return the words of an incomplete line, the last one empty behind a space, and the quote that is open."""
    lexer: Any = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:  # a quote is open, or a backslash is the last character
        return [*words, lexer.token], lexer.state if lexer.state in {"'", '"'} else ""
    return [*words, *([""] if line[-1:].isspace() else [])], ""


def option_and_value(before: list[str], word: str) -> tuple[list[str], str, str]:
    """Return the words before a value, `--option=` if the word begins so, and the value."""
    option, equals, value = word.partition("=")
    if equals and option.startswith("--"):
        return [*before, option], f"{option}=", value
    return before, "", word


def typed_line() -> tuple[list[str], str]:
    """Return the words behind the command, and the one that is completed, of the line that a script hands over."""
    words, _ = split(os.environ["_KWIRE_LINE"])
    return words[1:-1], words[-1]


class Bash(BashComplete):
    """Completion in bash, which takes what stands behind the last quote, `=` or `:` for the word."""

    source_template = _BASH

    def source(self) -> str:
        """Return the script; old versions of bash are not looked for, which would start one."""
        return self.source_template % self.source_vars()

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one that is completed, and this one."""
        return typed_line()

    def complete(self) -> str:
        """Return the completions, a line each, from where bash takes the word to begin."""
        before, _, typed = option_and_value(*self.get_completion_args())
        word = os.environ["_KWIRE_WORD"]
        behind = len(typed) - len(word) if typed.endswith(word) else 0
        items = self.get_completions(before, typed)
        plain = [item for item in items if item.type == "plain"]
        _, quote = split(os.environ["_KWIRE_LINE"])
        if not quote and not behind and any(_SPECIAL.search(item.value) for item in plain):
            quote = "'"
            for item in plain:
                item.value = quote + item.value
        for item in plain:
            item.value = item.value[behind:]
        return "\n".join(self.format_completion(item) for item in items)


class Zsh(ZshComplete):
    """Completion in zsh, which replaces the whole word."""

    source_template = _ZSH

    def complete(self) -> str:
        """Return the completions, three lines each."""
        return _with_option(self)


class Fish(FishComplete):
    """Completion in fish, which keeps completions that go on from the whole word."""

    source_template = _FISH

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one that is completed, and this one."""
        return typed_line()

    def complete(self) -> str:
        """Return the completions, a line each."""
        return _with_option(self)


SHELLS: dict[str, type[Bash | Zsh | Fish]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


def _with_option(shell: Zsh | Fish) -> str:
    """Return completions of a word that may begin with `--option=`."""
    before, option, value = option_and_value(*shell.get_completion_args())
    items = shell.get_completions(before, value)
    for item in items:
        item.value = option + item.value
    return "\n".join(shell.format_completion(item) for item in items)


def register() -> None:
    """Make click complete by these classes."""
    for name, shell in SHELLS.items():
        add_completion_class(shell, name)


def script(shell: str) -> str:
    """Return the script of a shell."""
    return SHELLS[shell](cli, {}, "kwire", COMPLETES).source()
