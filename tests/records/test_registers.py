import json

import pytest
from kit.commands import kwire

from kwire_cli import InputError
from kwire_cli.records.registers import Register, read_register

DRAFT = {"records": [{"headers": [{"key": 1, "value": {"text": "a"}}, {"key": 1048592, "value": {"text": "b"}}]}]}


@pytest.fixture
def draft(tmp_path):
    """Return a message of the KIP-82 draft with two headers, and a register that names one of them."""
    batch, register = tmp_path / "draft.bin", tmp_path / "register.json"
    batch.write_bytes(
        kwire("encode", "--as-records", "--record-format", "kip82-draft", "-f", "raw", json.dumps(DRAFT)).raw
    )
    register.write_text('{"shop.region": 1048592}')
    return str(batch), str(register)


def test_a_number_has_its_name_and_its_range():
    assert Register().label(1) == "client.id (Kafka open source)"
    assert Register().label(1048592) == "(Local, Infrastructure)"
    assert Register({"mine": 0xFFFFFFFF}).label(0xFFFFFFFF) == "mine (Reserved, RESERVED)"


def test_dump_shows_names_and_ranges(draft):
    batch, register = draft
    tree = kwire("dump", "--deep", "--record-format", "kip82-draft", "-f", "tree", "--register", register, batch).out
    assert 'header 1 client.id (Kafka open source): "a"' in tree
    assert 'header 1048592 shop.region (Local, Infrastructure): "b"' in tree


@pytest.mark.parametrize(
    ("text", "says"), [("{} {}", "not one JSON value"), ("[1]", "a register is"), (None, "cannot")]
)
def test_a_file_that_is_no_register(text, says, tmp_path):
    file = tmp_path / "register.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InputError, match=says):
        read_register(str(file))
