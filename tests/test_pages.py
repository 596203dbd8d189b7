"""Pages that no single room owns: their commands print what they say, their code runs, and they leave nothing out."""

import gzip
import re
from functools import partial
from importlib.util import find_spec

import click
import pytest
from kit.commands import BLOCK, ROOT, each_command, hold_page, kwire, seen, shell, shop, slow

import kwire_cli
from kwire_cli.cli.main import COMMANDS, HIDDEN, cli

DOCS = ROOT / "docs"
SOURCES = {
    "kubectl exec ": "samples/incidents/any.pcap",
    "kubectl logs ": "samples/incidents/strimzi-broker.log",
    "docker run ": "samples/incidents/any.pcap",
}
"""Commands that need a cluster, and what they printed."""
SEEN = [
    "captures",
    "dump",
    slow("input"),
    slow("lake"),
    "proposals",
    "secrets",
    "specs",
    slow("tables"),
]
"""Pages whose commands are shown as on a terminal, with files of the shop."""
PARTS = 3
CODE = re.compile(r"```python\n(.*?)```\n", re.DOTALL)
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "bench" / "README.md",
    *sorted((ROOT / "samples").rglob("README.md")),
    *sorted(DOCS.rglob("*.md")),
    *sorted((DOCS / "notebooks").glob("*.ipynb")),
]
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCED = re.compile(r"^ *(`{3,}).*?^ *\1$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "part"),
    [("model", 0), *(slow("cookbook", part) for part in range(PARTS))],
)
def test_commands_print_what_the_page_says(page, part, updating, monkeypatch):
    """Every so many-th command of the cookbook: it has so many that one process should not have to run all."""
    monkeypatch.chdir(ROOT)
    file = DOCS / f"{page}.md"
    commands = [f"{block['command']} " for block in BLOCK.finditer(file.read_text("utf-8"))]
    some = tuple(commands[part :: PARTS if page == "cookbook" else 1])
    run = partial(shell, sources=SOURCES)
    hold_page(file, updating, run=run, only=some)


def test_the_cookbook_lists_each_recipe():
    """A row of its tables leads to a recipe or to findings."""
    text = (DOCS / "cookbook.md").read_text("utf-8")
    recipes = re.findall(r"^## (.*)$", text, re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-") for name in recipes]
    assert re.findall(r"^\| .* \| \[.*?\]\(#(.*?)\)", text, re.MULTILINE) == anchors
    for name, recipe in zip(recipes, re.split(r"^## .*\n", text, flags=re.MULTILINE)[1:], strict=True):
        assert BLOCK.search(recipe), name


def test_each_incident_has_a_row_with_its_size_and_a_use():
    """A recipe shows it, a rule finds something in it, or a test names it."""
    rows = (ROOT / "samples" / "README.md").read_text("utf-8")
    users = [
        DOCS / "cookbook.md",
        *(ROOT / "kwire_cli" / "questions" / "rules").glob("*.toml"),
        *(ROOT / "tests").rglob("*.py"),
    ]
    uses = "".join(file.read_text("utf-8") for file in users)
    for path in (ROOT / "samples" / "incidents").iterdir():
        assert path.name in uses or f'"{path.name.partition(".")[0]}"' in uses
        if path.is_dir():
            assert f"incidents/{path.name}/" in rows
        elif path.suffix == ".keys":
            assert path.name in rows
        else:
            assert re.search(
                rf"^\| incidents/{re.escape(path.name)} \|.*\| {path.stat().st_size} \|$", rows, re.MULTILINE
            )


@pytest.mark.parametrize("page", SEEN)
def test_commands_show_on_a_terminal_what_the_page_says(page, updating, monkeypatch, tmp_path):
    monkeypatch.chdir(shop(tmp_path))
    hold_page(DOCS / f"{page}.md", updating, run=seen)


def test_pages_show_no_bar_however_busy_the_machine_is(monkeypatch, tmp_path):
    monkeypatch.chdir(shop(tmp_path))
    monkeypatch.setattr("kwire_cli.cli.progress.AFTER", 0)
    assert seen("kwire export orders-0 -o lake").splitlines()[-1] == "[stderr] kwire: 1 input file, 425 bytes read"


def questions():
    """The rows of the first table of the cookbook: a command each."""
    table = (DOCS / "cookbook.md").read_text("utf-8").partition("| question | command |")[2].partition("\n\n")[0]
    return re.findall(r"^\| [^|]+\? \| `(kwire .*?)` \| ", table, re.MULTILINE)


@pytest.mark.parametrize("command", questions())
def test_a_command_answers_a_question(command, monkeypatch, tmp_path):
    monkeypatch.chdir(shop(tmp_path))
    answer = seen(command)
    assert answer or (tmp_path / command.split()[-1]).stat().st_size
    assert "[exit" not in answer


def test_the_index_leads_to_every_page():
    links = re.findall(r"\]\((\w[\w/-]*\.md)[#)]", (DOCS / "index.md").read_text("utf-8"))
    assert {*links, "index.md"} == {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}


def anchors_of(page):
    """Return the anchors that GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text("utf-8")), re.MULTILINE)
    plain = (re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_leads_to_a_file_and_a_heading(page):
    broken = []
    for file, anchor in LINK.findall(re.sub(r"`[^`\n]*`", "", FENCED.sub("", page.read_text("utf-8")))):
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(f"{file}#{anchor}")
    assert broken == []


@pytest.mark.parametrize("page", ["kip98", slow("library"), "model"])
def test_code_of_a_page_runs_from_top_to_end(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {}
    for code in CODE.findall((DOCS / f"{page}.md").read_text("utf-8")):
        if any(word in code for word in ("to_arrow", "to_pandas")) and not (
            find_spec("numba") and find_spec("pyarrow")
        ):
            continue  # an extra
        exec(compile(code, f"{page}.md", "exec"), names)


def test_the_page_on_the_library_uses_every_public_name():
    code = "\n".join(CODE.findall((DOCS / "library.md").read_text("utf-8")))
    assert [name for name in kwire_cli.__all__ if f"kwire.{name}" not in code] == []


def test_help_prints_what_the_page_on_commands_says(updating, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")  # of the text of help, which click writes
    hold_page(DOCS / "commands.md", updating, run=seen)


def test_the_page_on_commands_has_the_examples_of_each_command(updating):
    """A section for each command, with at least three examples that are made from the command."""
    page = DOCS / "commands.md"
    before, *sections = re.split(r"(?m)^(?=## kwire )", page.read_text("utf-8"))
    names = [section.split()[2] for section in sections]
    assert names == ["FILE", *COMMANDS]
    now = [before]
    for name, section in zip(["summary", *COMMANDS], sections, strict=True):
        command = cli.get_command(click.Context(cli), name)
        assert len(command.examples) >= 3
        width = max(len(example.line) for example in command.examples)
        lines = "".join(f"    {example.line:{width}}  # {example.meaning}\n" for example in command.examples)
        now.append(f"{section.partition('    ')[0]}{lines}" + "\n" * section.endswith("\n\n"))
    if updating:
        page.write_text("".join(now), "utf-8")
    else:
        assert now == [before, *sections]


def having(option, choice=None):
    """The commands with this option, and this among its choices."""
    hidden = ((name, cli.get_command(click.Context(cli), name)) for name in HIDDEN)
    return {
        name.split()[0]
        for name, command in (*each_command(), *hidden)
        for each in command.params
        if option in each.opts and (choice is None or choice in getattr(each.type, "choices", ()))
    }


def named(text):
    """The commands that a text names in code, alone or with an option."""
    return {word for word in re.findall(r"`(?:kwire )?([\w-]+)[^`]*`", text) if word in {*COMMANDS, *HIDDEN}}


def test_the_page_on_commands_names_those_that_write_html():
    (line,) = re.findall(
        r"^- `--format html` of .*(?:\n  .+)*", (DOCS / "commands.md").read_text("utf-8"), re.MULTILINE
    )
    assert named(line) == having("--format", "html")


def test_the_part_on_tls_names_the_commands_that_decrypt():
    (line,) = re.findall(
        r"^Every command that reads captures takes .*(?:\n.+)*", (DOCS / "captures.md").read_text("utf-8"), re.MULTILINE
    )
    assert named(line) == having("--tls-keylog")


def test_the_page_on_input_says_what_of_packed_files_is_read(tmp_path):
    capture, text = tmp_path / "a.pcap.gz", tmp_path / "a.hex.gz"
    capture.write_bytes(gzip.compress((ROOT / "samples" / "captures" / "midstream.pcap").read_bytes()))
    text.write_bytes(gzip.compress((ROOT / "samples" / "frames" / "metadata-v0-request.hex").read_bytes()))
    assert kwire("decode", "--top", "1", capture).code == 0
    refused = kwire("decode", text)
    (said,) = re.findall(r"it\s+is\s+refused\s+as\s+`(.*?)`", (DOCS / "input.md").read_text("utf-8"))
    assert (refused.code, said in refused.err) == (2, True)
    assert kwire("decode", "-", stdin=gzip.decompress(text.read_bytes())).code == 0
