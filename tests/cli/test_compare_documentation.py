"""docs/compare.md: all options of messages are named, and its code runs."""

import re

from command_line import EVERYWHERE, ROOT

from kwire_cli.cli.compare import command


def test_every_option_of_messages_is_on_the_page():
    pages = "".join((ROOT / "docs" / f"{page}.md").read_text("utf-8") for page in ("compare", "kafka9927"))
    options = {
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("-")
    }
    assert {name for name in options - EVERYWHERE - {"--unframed", "-n"} if name not in pages} == set()


def test_the_code_of_the_page_runs(capsys):
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "compare.md").read_text("utf-8"), re.DOTALL)
    exec(compile(code, "compare.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["version", "version", "inflexible", "flexible"]
