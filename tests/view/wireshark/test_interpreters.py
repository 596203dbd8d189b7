"""The dissector in plain Lua, of the versions that Wireshark has had: both do the same, and never fail."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest
import tshark
from every_version import damaged, exchanges

import kwire_cli
from kwire_cli.message.encode import encode_document

SHIM = Path(__file__).with_name("shim.lua")
INTERPRETERS = [path for name in ("lua5.2", "lua5.4") if (path := shutil.which(name))]


@pytest.mark.skipif(not INTERPRETERS, reason="no lua5.2 and no lua5.4")
@pytest.mark.parametrize("harmed", [False, True])
def test_every_version_of_every_message_is_the_same_in_each_interpreter(tmp_path, harmed):
    dice, rows = random.Random(3), []
    for document in exchanges(random.Random(3)):
        data = encode_document(kwire_cli.catalog(), document)
        is_request = document["kind"] == "request"
        if harmed:
            data = damaged(dice, data, 23 if is_request else 9)
        rows.append((">" if is_request else "<") + data.hex())
    frames = tmp_path / "frames"
    frames.write_text("\n".join(rows))
    lua = tshark.written(tmp_path)
    outputs = {
        subprocess.run([lua_program, SHIM, lua, frames], capture_output=True, check=True).stdout
        for lua_program in INTERPRETERS
    }
    assert len(outputs) == 1
    [text] = outputs
    assert b"the dissector failed" not in text
    assert text.count(b"kwire.kind") > 1400
