"""`kwire tui` where it does not come to a screen; the screen itself is in tests/tui."""

import importlib.util
import re

import pytest
from kit.commands import ROOT, hold_page, kwire, refusal_of

CAPTURE = ROOT / "samples/captures/ipv6.pcap"
SEGMENT = ROOT / "samples/segments/txn-out-0/00000000000000000000.log"
HEX = ROOT / "samples/frames/fetch-v18-response.hex"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([CAPTURE], "this is for a terminal; kwire decode and kwire dump print the same"),
        (["-"], "standard input is the keyboard here: write what comes from a pipe to a file first"),
        ([ROOT / "tests/tui/golden"], "there is no capture, segment or snapshot in this folder"),
        ([ROOT / "samples/segments"], "this is for a terminal"),
        ([HEX, "--follow"], "only captures and segments can be followed"),
        (["/no/such/file"], "/no/such/file: there is no such file"),
        (["x" * 5000], "there is no such file"),
        ([CAPTURE, "--filter", "api =="], "filter, column 7: expected a value, found the end"),
        ([CAPTURE, "--api", "Fetch"], "--api is for requests and responses without a capture around them"),
        ([CAPTURE, "--as-topic", "t"], "--as-topic is for record batches"),
        ([SEGMENT, "--port", "9092"], "--port is for packet captures"),
        ([HEX, "--port", "9092"], "--port is for packet captures"),
        ([HEX, "--input", "xxd"], "expected an offset and a colon"),
    ],
)
def test_errors(arguments, says):
    assert says in refusal_of("tui", *arguments)


def test_an_empty_file(tmp_path):
    file = tmp_path / "empty"
    file.write_bytes(b"")
    assert "the input is empty" in kwire("tui", file).err


def test_without_the_extra(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "textual" else real(name, *more)
    )
    assert "pip install 'kwire[tui]'" in refusal_of("tui", CAPTURE)


def test_a_screen(monkeypatch):
    from kwire_cli.tui.app import Inspector

    shown = []
    monkeypatch.setattr(
        Inspector, "run", lambda app: shown.append((app.first.source, app.first.filter_text, app.first.listing.what))
    )
    assert kwire("tui", CAPTURE, "--filter", "api == Fetch", stdin=None, terminal=True).code == 0
    assert kwire("tui", SEGMENT, stdin=None, terminal=True).code == 0
    assert kwire("tui", HEX, "--api", "Fetch", "--message-version", "18", stdin=None, terminal=True).code == 0
    assert shown == [
        (str(CAPTURE), "api == Fetch", ("frame", "frames")),
        (str(SEGMENT), "", ("batch", "batches")),
        (str(HEX), "", ("frame", "frames")),
    ]


def test_the_page(updating, monkeypatch):
    from kwire_cli.tui.captures import PIECE
    from kwire_cli.tui.keys import key_rows
    from kwire_cli.view.bounded_outline import MOST_BYTES, MOST_NODES

    def with_keys(text):
        rows = [f"| `{key}` | {name} | {meaning} |\n" for key, name, meaning in key_rows()]
        table = f"| key | name | what it does |\n|---|---|---|\n{''.join(rows)}"
        return re.sub(r"(?<=<!-- keys -->\n).*(?=<!-- end of keys -->)", lambda _: table, text, flags=re.DOTALL)

    assert (MOST_NODES, MOST_BYTES, PIECE) == (20_000, 256 << 10, 1 << 20)  # as the page says
    monkeypatch.chdir(ROOT)
    hold_page(ROOT / "docs" / "tui.md", updating, with_keys)
