"""The README: short, its commands print what it says, and its picture is what kwire draws."""

import io
import re
import tomllib

import pytest
from kit.commands import ROOT, hold_page, kwire, seen, shop
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "images" / "decode.svg"
DRAWN = (
    ["decode", "incident.pcap", "--frames", "62-72"],
    ["decode", "incident.pcap", "--frames", "63", "--format", "tree"],
)
FONTS = re.compile(r"@font-face \{\{.*?\}\}\s*", re.DOTALL)
MADE = re.compile(r"<!-- made from .*?: begin -->.*?<!-- made from .*?: end -->", re.DOTALL)
BLOCKS = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def picture():
    """Return what a terminal of 100 columns shows of two commands, in colours, as SVG without fonts from elsewhere."""
    console = Console(record=True, file=io.StringIO(), width=100, color_system="truecolor", force_terminal=True)
    variables = {"COLUMNS": "100", "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    for words in DRAWN:
        console.print(Text.assemble(("$ ", "dim"), (" ".join(["kwire", *words]), "bold")))
        console.print(Text.from_ansi(kwire(*words, terminal=True, variables=variables).out))
    form = FONTS.sub("", CONSOLE_SVG_FORMAT)
    svg = console.export_svg(title="kwire", theme=MONOKAI, code_format=form, unique_id="kwire")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def test_commands_print_what_the_readme_says(updating, monkeypatch, tmp_path):
    monkeypatch.chdir(shop(tmp_path))
    hold_page(README, updating, run=seen)


@pytest.mark.slow
def test_what_one_has_leads_to_commands_that_run(monkeypatch, tmp_path):
    monkeypatch.chdir(shop(tmp_path))
    commands = re.findall(r"^\| .*? \| `(kwire .*?)` \|", README.read_text("utf-8"), re.MULTILINE)
    assert len(commands) == 6
    for command in commands:
        assert "[exit" not in seen(command), command


def test_the_picture_is_what_kwire_draws(updating, monkeypatch, tmp_path):
    monkeypatch.chdir(shop(tmp_path))
    if updating:
        PICTURE.write_text(picture(), "utf-8")
    assert picture() == PICTURE.read_text("utf-8")
    assert PICTURE.relative_to(ROOT).as_posix() in README.read_text("utf-8")


def test_the_picture_asks_nothing_of_the_network():
    links = set(re.findall(r"https?://[^\s\"\')]+", PICTURE.read_text("utf-8")))
    assert links <= {"http://www.w3.org/2000/svg", "https://www.textualize.io"}  # a name, and a comment


def test_the_readme_is_short():
    assert len(README.read_text("utf-8").splitlines()) <= 150


@pytest.mark.parametrize(
    "page", [README, ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")], ids=lambda page: page.name
)
def test_two_pages_fit_side_by_side(page):
    """Prose has lines of about 100 characters; tables, code, headings and what a test makes may be wider."""
    written = MADE.sub("", BLOCKS.sub("", page.read_text("utf-8")))
    lines = re.sub(r"`[^`\n]*`", "``", written).splitlines()
    assert [line for line in lines if len(line) > 120 and not line.startswith(("|", "#", "    "))] == []


@pytest.mark.parametrize("target", ["demo", "test"])
def test_the_readme_names_the_two_commands(target):
    assert f"make {target}" in README.read_text("utf-8")


def test_the_readme_names_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (line,) = re.findall(r"^Extras: .*(?:\n.+)*", README.read_text("utf-8"), re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`\s\(", line)) == sorted(extras)


def test_facts_about_peers_have_a_source():
    section = README.read_text("utf-8").partition("\n## Compared with other tools\n")[2].partition("\n## ")[0]
    facts = re.findall(r"^\| (\w.*?) \|", section, re.MULTILINE)
    page = (ROOT / "docs" / "evidence" / "conformance.md").read_text("utf-8")
    sources = re.findall(r"^### (.*)$", page.partition("\n## Other tools\n")[2], re.MULTILINE)
    assert facts == sources
