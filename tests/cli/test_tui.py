"""`kwire tui` where it does not come to a screen; the screen itself is in tests/tui."""

import importlib.util
import re

from kit.commands import ROOT, hold_page, kwire, refusal_of

CAPTURE = ROOT / "samples/captures/ipv6.pcap"
SEGMENT = ROOT / "samples/segments/txn-out-0/00000000000000000000.log"


def test_an_empty_file(tmp_path):
    file = tmp_path / "empty"
    file.write_bytes(b"")
    assert "the input is empty" in kwire("tui", file).err


def test_frames_of_a_text_are_refused():
    assert "kwire decode shows them" in refusal_of("tui", ROOT / "samples/frames/fetch-v18-response.hex")


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
    assert shown == [
        (str(CAPTURE), "api == Fetch", ("frame", "frames")),
        (str(SEGMENT), "", ("batch", "batches")),
    ]


def test_the_page(updating, monkeypatch):
    from kwire_cli.tui.captures import PIECE
    from kwire_cli.tui.keys import KEYS
    from kwire_cli.view.bounded_outline import MOST_BYTES, MOST_NODES

    def with_keys(text):
        rows = [
            f"| `{key.key_display or key.key}` | {key.description} | {key.tooltip} |\n" for key in KEYS if key.tooltip
        ]
        table = f"| key | name | effect |\n|---|---|---|\n{''.join(rows)}"
        return re.sub(r"(?<=<!-- keys -->\n).*(?=<!-- end of keys -->)", lambda _: table, text, flags=re.DOTALL)

    assert (MOST_NODES, MOST_BYTES, PIECE) == (20_000, 256 << 10, 1 << 20)  # as the page says
    monkeypatch.chdir(ROOT)
    hold_page(ROOT / "docs" / "output.md", updating, with_keys)
