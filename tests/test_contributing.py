"""What CONTRIBUTING says of frequent changes is true: each is made in a copy of the package, by the one file and the
one line.
"""

import os
import re
import shutil
import subprocess
import sys

import pytest
from kit.commands import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
CODE = re.findall(r"```python\n(.*?)\n```", PAGE, re.DOTALL)


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(ROOT / "kwire_cli", tmp_path / "kwire_cli")  # compiled as it is
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    return tmp_path


def line_before(file, mark, line):
    text = file.read_text("utf-8")
    assert text.count(mark) == 1
    file.write_text(text.replace(mark, f"{line}\n    {mark}"), "utf-8")


def kwire(copy, *arguments, stdin=b"", module="kwire_cli"):
    environment = {**os.environ, "PYTHONPATH": str(copy), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=copy,
        input=stdin,
        capture_output=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.slow
def test_a_message(copy):
    """With its comments and its prose, both halves, as the table says it."""
    (module, command) = re.search(
        r"`python -m (kwire_cli\.spec\.importer) (add) FooRequest\.json FooResponse\.json`", PAGE
    ).groups()
    halves = [ROOT / "samples" / "definitions" / "before" / f"Lease{half}.json" for half in ("Request", "Response")]
    assert all(half.read_text("utf-8").startswith("//") for half in halves)
    kwire(copy, command, *map(str, halves), module=module)
    assert kwire(copy, "lint", "specs", "--rules", "kafka9927") == b""
    assert b"9100" in kwire(copy, "spec", "list", "Lease")
    assert (
        kwire(copy, "encode", "-m", "LeaseRequest", "--message-version", "1", '{"holder":"a","zones":[]}')
        == b"02610100\n"
    )


def test_a_record_format(copy):
    folder = copy / "kwire_cli" / "structs" / "records"
    shutil.copy(folder / "v1.py", folder / "v9.py")
    line = CODE[0]
    formats = copy / "kwire_cli" / "records" / "formats.py"
    line_before(formats, '"kip98-draft": RecordFormat', line)
    formats.write_text(
        formats.read_text("utf-8").replace("import kip82, kip98, v0, v1, v2", "import kip82, kip98, v0, v1, v2, v9")
    )
    written = kwire(
        copy, "encode", "--as-records", "--record-format", "v9", "-f", "raw", '{"records":[{"value":{"text":"hello"}}]}'
    )
    shown = kwire(copy, "dump", "--deep", "--format", "tree", "--record-format", "v9", "-", stdin=written).decode()
    assert 'value: "hello"' in shown
    assert "crc: 0x" in shown
    assert "wrong" not in shown
    assert "message, offset 0" in shown
    assert "v9" in kwire(copy, "dump", "--help-all").decode()


@pytest.mark.slow
def test_a_column(copy):
    columns = copy / "kwire_cli" / "facts" / "columns.py"
    text = columns.read_text("utf-8")
    mark = ')\n"""Columns that --filter and --fields have'
    assert text.count(mark) == 1
    columns.write_text(text.replace(mark, f"{CODE[1]},\n{mark}"), "utf-8")
    chosen = ("--filter", "header_version >= 1 and frame < 3", "--fields", "frame,header_version")
    capture = str(ROOT / "samples" / "captures" / "ipv6.pcap")
    out = {fmt: kwire(copy, "decode", capture, *chosen, "-f", fmt) for fmt in ("csv", "jsonl", "table")}
    assert out["csv"].split() == [b"frame,header_version", b"1,2"]
    assert out["jsonl"] == b'{"frame":1,"header_version":2}\n'
    assert out["table"].split() == [b"frame", b"header_version", b"1", b"2"]
    assert b"1,2" in kwire(copy, "decode", capture, "--sort", "header_version:desc", "--top", "1", *chosen, "-f", "csv")


def test_an_input_form(copy):
    code = (
        "from kwire_cli.source.text.model import Chunk, Input\n\n\n"
        'def read(text):\n    return Input((Chunk(bytes(map(int, text.split())), 1, None),), "decimal")\n'
    )
    forms = copy / "kwire_cli" / "source" / "text"
    (forms / "decimal.py").write_text(code, "utf-8")
    text = (forms / "digits.py").read_text("utf-8")
    with_decimal = 'from kwire_cli.source.text.decimal import read\n\nREADERS = {"decimal": read, '
    (forms / "digits.py").write_text(text.replace("READERS = {", with_decimal), "utf-8")
    text = (forms / "reading.py").read_text("utf-8")
    (forms / "reading.py").write_text(text.replace('"hex-lines", *ROW', '"hex-lines", "decimal", *ROW'), "utf-8")
    assert b'"api":"ApiVersions"' in kwire(copy, "decode", "--input", "decimal", "0 0 0 10 0 18 0 0 0 0 0 1 0 0")


@pytest.mark.slow
def test_a_column_of_frames(copy):
    """Its entry is enough for --fields, --filter, SQL over a capture, and lakes."""
    pytest.importorskip("pyarrow")
    entry = re.search(r"`(Column\(\"tail\".*?\))`\.", PAGE)[1]
    columns = copy / "kwire_cli" / "facts" / "columns.py"
    text = columns.read_text("utf-8")
    beginning = "\nFRAMES: tuple[Column, ...] = ("
    assert text.count(beginning) == 1
    columns.write_text(text.replace(beginning, f"{beginning}\n    {entry},"), "utf-8")
    capture = str(ROOT / "samples" / "captures" / "ipv6.pcap")
    tails = kwire(copy, "decode", "--format", "csv", "--fields", "tail", capture).decode().splitlines()[1:]
    assert len(tails) == 148
    chosen = kwire(copy, "decode", "--format", "jsonl", "--filter", f"tail == {tails[0]!r}", capture)
    assert len(chosen.splitlines()) == tails.count(tails[0])
    kwire(copy, "export", capture, "-o", "lake", "--tables", "frames")
    found = kwire(copy, "query", "lake", "select tail from frames", "--format", "csv").decode().splitlines()[1:]
    assert sorted(found) == sorted(tails)


def test_a_command(copy):
    cli = copy / "kwire_cli" / "cli"
    (cli / "hello.py").write_text(
        'import click\n\n\n@click.command(name="hello")\ndef command():\n    click.echo("hello")\n', "utf-8"
    )
    line_before(cli / "main.py", '"lint": ', '"hello": "a greeting",')
    assert kwire(copy, "hello") == b"hello\n"
    assert "a greeting" in kwire(copy, "help").decode()


def test_a_view_of_batches(copy):
    view, function = CODE[2:]
    (copy / "kwire_cli" / "view" / "sizes.py").write_text(view, "utf-8")
    batches = copy / "kwire_cli" / "cli" / "batch_views.py"
    batches.write_text(batches.read_text("utf-8").replace("\nVIEWS: ", f"\n{function}\n\n\nVIEWS: "), "utf-8")
    line_before(batches, '"tree": Tree,', re.search(r'`("sizes": .*?)` in `VIEWS`', PAGE)[1])
    segment = str(ROOT / "samples" / "segments" / "txn-out-0" / "00000000000000000000.log")
    assert kwire(copy, "dump", "--format", "sizes", "--top", "2", segment) == b"size 109 bytes\nsize 78 bytes\n"


def test_a_definition_with_comments_in_the_folder_itself_is_told_how_it_gets_there(copy):
    definition = (ROOT / "samples" / "definitions" / "before" / "LeaseRequest.json").read_text("utf-8")
    (copy / "specs" / "HeartbeatRequest.json").write_text(definition, "utf-8")
    with pytest.raises(AssertionError, match=r"not valid JSON.*python -m kwire_cli\.spec\.importer add FILE"):
        kwire(copy, "spec", "show", "HeartbeatRequest")


def test_the_files_that_it_names_are_there():
    for name in re.findall(r"tests/[\w/]+\.py", PAGE):
        assert (ROOT / name).is_file()


def test_an_option_that_crosses_inputs():
    """The lines of the example are those of the files, and there are four files."""
    [example] = re.findall(r"```diff\n(.*?)\n```", PAGE, re.DOTALL)
    files = re.split(r"--- (\S+)\n", example)[1:]
    assert len(files) == 2 * 4
    for name, lines in zip(files[::2], files[1::2], strict=True):
        text = (ROOT / name).read_text("utf-8").splitlines()
        for line in lines.rstrip("\n").split("\n"):
            assert line[1:] in text, (name, line)
