"""docs/compare.md: all options of messages are named, and its code runs."""

import re

from command_line import ROOT

from kwire_cli.cli.compare import command

EVERYWHERE = {
    "--input",
    "--framed",
    "--unframed",
    "--request",
    "--response",
    "--specs",
    "--kafka",
    "--color",
    "--sort",
    "--wide",
    "--limit",
    "-n",
    "--help-all",
    "--top",
    "--raw-csv",
    "--table",
    "--output",
    "-o",
    "--capture-point",
    "--merge-points",
    "--verbose",
    "-v",
    "-m",
    "--message-version",
    "-f",
}
"""Options that decode has too."""


def test_every_option_of_messages_is_on_the_page():
    pages = "".join((ROOT / "docs" / f"{page}.md").read_text("utf-8") for page in ("compare", "kafka9927"))
    options = {
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("-")
    }
    assert {name for name in options - EVERYWHERE if name not in pages} == set()


def test_the_code_of_the_page_runs(capsys):
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "compare.md").read_text("utf-8"), re.DOTALL)
    exec(compile(code, "compare.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["version", "version", "inflexible", "flexible"]
