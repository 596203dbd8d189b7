"""The dissector in plain Lua, of the versions that Wireshark has had: both do the same, and never fail."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from kit import peers
from kit.messages import damaged, exchanges

import kwire_cli
from kwire_cli.message.encode import encode_document
from kwire_cli.spec.catalog import Catalog
from kwire_cli.spec.model import FieldSpec, MessageSpec, Versions
from kwire_cli.view.wireshark.dissector import dissector, lua_text

SHIM = Path(__file__).with_name("shim.lua")
INTERPRETERS = [path for name in ("lua5.2", "lua5.4") if (path := shutil.which(name))]


@pytest.mark.slow
@pytest.mark.skipif(not INTERPRETERS, reason="no lua5.2 and no lua5.4")
def test_every_version_of_every_message_is_the_same_in_each_interpreter(tmp_path):
    """Every second pair of a request and a response is damaged."""
    dice, rows = random.Random(3), []
    for number, document in enumerate(exchanges(random.Random(3))):
        data = encode_document(kwire_cli.catalog(), document)
        is_request = document["kind"] == "request"
        if number % 4 > 1:
            data = damaged(dice, data, 23 if is_request else 9)
        rows.append((">" if is_request else "<") + data.hex())
    frames = tmp_path / "frames"
    frames.write_text("\n".join(rows))
    lua = peers.written(tmp_path)
    outputs = {
        subprocess.run([lua_program, SHIM, lua, frames], capture_output=True, check=True).stdout
        for lua_program in INTERPRETERS
    }
    assert len(outputs) == 1
    [text] = outputs
    assert b"the dissector failed" not in text
    assert text.count(b"kwire.kind") > 1400


@pytest.mark.skipif(not INTERPRETERS, reason="no lua5.2 and no lua5.4")
def test_no_name_of_a_definition_is_run(tmp_path):
    """Definitions with such names are not loaded; the dissector does not rely on that."""
    made = tmp_path / "made"
    hostile = [f"A={{}}}}io.open('{made}','w')K.extra={{B", f"A\"]=0}}io.open('{made}','w')--", "A\\", "A\n]]\r\0é"]
    every = Versions(0, 0)
    specs = [
        MessageSpec(f"{name}Request", "request", every, every, (FieldSpec(name, "int8", every),), api_key=number)
        for number, name in enumerate(hostile, 900)
    ]
    text = dissector(Catalog({}, specs, {}))
    tables = text[: text.index("do -- numbers")]
    for program in INTERPRETERS:
        lua = tmp_path / "tables.lua"
        names = ", ".join(lua_text(spec.name) for spec in specs)
        lua.write_bytes(f"{tables}\nfor _, name in ipairs {{{names}}} do assert(K.messages[name]) end".encode())
        done = subprocess.run([program, lua], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        assert not made.exists()
        check = f"io.write({', '.join(lua_text(name) for name in hostile)})"
        assert (
            subprocess.run([program, "-e", check], capture_output=True, check=True).stdout == "".join(hostile).encode()
        )
