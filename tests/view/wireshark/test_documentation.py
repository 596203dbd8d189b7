"""docs/wireshark.md: what kwire writes, and what tshark shows of it."""

import subprocess

import pytest
from kit import peers
from kit.commands import ROOT, hold_page, shell


def run(command):
    """What a command of the page prints; of tshark without what it says of the user."""
    if command.startswith("kwire"):
        return shell(command)
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(peers.TSHARK is None, reason="no tshark")
def test_the_page_shows_what_the_commands_print(updating, monkeypatch, tmp_path):
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    hold_page(ROOT / "docs" / "wireshark.md", updating, run=run)
