"""Keys, against the traces of RFC 8448; key logs."""

import os
import threading

import pytest

from kwire_cli.errors import InputError
from kwire_cli.source.packets.pcap import Secrets
from kwire_cli.source.tls.ciphers import SUITES, expand_label, key_block, suite_name
from kwire_cli.source.tls.keylog import KeyLog
from kwire_cli.structs.network import TLS_KEY_LOG

SECRET = bytes.fromhex("b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38")
"""The server's handshake traffic secret of RFC 8448, 3."""
RANDOM, OTHER = bytes(range(32)), bytes(32)


def line(label="CLIENT_RANDOM", random=RANDOM, secret=bytes(48)):
    return f"{label} {random.hex()} {secret.hex()}\n"


def test_keys_of_a_traffic_secret():
    assert expand_label("sha256", SECRET, "key", 16).hex() == "3fce516009c21727d0f2e4e86ee403bc"
    assert expand_label("sha256", SECRET, "iv", 12).hex() == "5d313eb2671276ee13000b30"


def test_a_key_block_goes_on_as_long_as_it_is_asked_for():
    block = key_block("sha384", bytes(48), RANDOM, OTHER, 200)
    assert len(block) == 200
    assert key_block("sha384", bytes(48), RANDOM, OTHER, 88) == block[:88]
    assert key_block("sha384", bytes(48), OTHER, RANDOM, 88) != block[:88]


def test_suites_have_the_key_and_hash_that_their_names_say():
    for number, suite in SUITES.items():
        assert suite.number == number
        assert suite.key_size == (16 if "_AES_128_" in suite.name else 32)
        assert suite.digest == ("sha384" if suite.name.endswith("SHA384") else "sha256")
    assert suite_name(0xABCD) == "suite 0xabcd"


def test_lines_of_a_key_log(tmp_path):
    path = tmp_path / "keys"
    path.write_text(
        f"# a comment\n\n{line()}EXPORTER_SECRET {OTHER.hex()} {SECRET.hex()}\nnothing at all\n"
        f"{line('SERVER_TRAFFIC_SECRET_0', OTHER, SECRET).upper()}\r\nCLIENT_RANDOM {OTHER.hex()} abc\n"
    )
    log = KeyLog([str(path)])
    assert log.find("CLIENT_RANDOM", RANDOM) == bytes(48)
    assert log.find("SERVER_TRAFFIC_SECRET_0", OTHER) == SECRET
    assert log.find("CLIENT_RANDOM", OTHER) is None
    assert log.find("EXPORTER_SECRET", OTHER) is None


@pytest.mark.parametrize("before", ["", "# comment\n", "\n\n"])
def test_a_key_log_that_grows(before, tmp_path):
    path = tmp_path / "keys"
    path.write_text(before)
    log = KeyLog([str(path)])
    assert log.find("CLIENT_RANDOM", RANDOM) is None
    with path.open("a") as file:
        file.write(line()[:9])
        file.flush()
        assert log.find("CLIENT_RANDOM", RANDOM) is None
        file.write(line()[9:90])
        file.flush()
        assert log.find("CLIENT_RANDOM", RANDOM) is None
        file.write(line()[90:])
        file.flush()
        assert log.find("CLIENT_RANDOM", RANDOM) == bytes(48)
    path.unlink()
    assert log.find("CLIENT_RANDOM", OTHER) is None


def test_secrets_of_a_capture_as_they_come():
    blocks = []
    log = KeyLog((), lambda: blocks)
    blocks.append(Secrets(0x57474B4C, line().encode()))  # of WireGuard
    assert log.find("CLIENT_RANDOM", RANDOM) is None
    blocks.append(Secrets(TLS_KEY_LOG, line().encode()))
    assert log.find("CLIENT_RANDOM", RANDOM) == bytes(48)


@pytest.mark.parametrize(
    "text", [b"-----BEGIN PRIVATE KEY-----\n", b"\0\1\2\3" * 100, b"x" * (3 << 20), b"# comment\nCLIENT_RANDOM zz 11\n"]
)
def test_what_is_no_key_log_is_refused(text, tmp_path):
    path = tmp_path / "keys"
    path.write_bytes(text)
    with pytest.raises(InputError, match="is not a TLS key log"):
        KeyLog([str(path)])


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        KeyLog([str(tmp_path / "none")])


def test_a_pipe(tmp_path):
    """As a shell makes one: --tls-keylog <(...)."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(line(),))
    writer.start()
    log = KeyLog([str(path)])
    writer.join()
    assert log.find("CLIENT_RANDOM", RANDOM) == bytes(48)
    assert log.find("CLIENT_RANDOM", OTHER) is None
