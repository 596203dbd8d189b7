"""Files of a folder that cannot be read: they are named, and the others are read."""

import os
import shutil

import pytest
from kit.commands import ROOT, kwire, refusal_of

import kwire_cli

CAPTURE = ROOT / "samples" / "captures" / "midstream.pcap"
COMMANDS = (("decode", "table"), ("decode", "jsonl"), ("stats", "json"))
NOT_UTF8, LINK, NO_CAPTURE = os.fsdecode(b"caf\xe9.pcap"), "link.pcap", "no.pcap"
UNREADABLE = {
    NOT_UTF8: "caf\\xe9.pcap: its path is not in UTF-8, as paths in tables are: rename it",
    LINK: "link.pcap: cannot be read: it is a link to nothing, which does not exist",
    NO_CAPTURE: "no.pcap: no bytes were recognised in this text",
}


def add(folder, name):
    if name == NOT_UTF8:
        shutil.copy(CAPTURE, folder / name)
    elif name == LINK:
        (folder / name).symlink_to("nothing")
    else:
        (folder / name).write_text("no capture")


@pytest.fixture
def folder(tmp_path):
    captures = tmp_path / "captures"
    captures.mkdir()
    return captures


@pytest.mark.parametrize(("command", "form"), COMMANDS)
def test_the_other_files_are_read(command, form, folder):
    shutil.copy(CAPTURE, folder)
    whole = kwire(command, folder, "--format", form)
    for name in UNREADABLE:
        add(folder, name)
    done = kwire(command, folder, "--format", form)
    assert done.code == 2
    assert done.out.count("\n") >= whole.out.count("\n") > 0
    for text in UNREADABLE.values():
        assert text in done.err
    assert not any("\ud800" <= letter <= "\udfff" for letter in done.err)


@pytest.mark.parametrize("name", UNREADABLE, ids=["not UTF-8", "link", "no capture"])
def test_a_folder_without_another_file_is_an_error(name, folder):
    add(folder, name)
    assert UNREADABLE[name] in refusal_of("stats", folder)
    with pytest.raises(kwire_cli.InputError):
        kwire_cli.stats(folder)


def test_a_file_that_is_named_itself_is_an_error(folder):
    add(folder, NOT_UTF8)
    assert UNREADABLE[NOT_UTF8] in refusal_of("decode", folder / NOT_UTF8)
