"""What TLS says before its keys."""

from hypothesis import given, strategies as st
from kit.calls import INCIDENTS, is_connection, traffic_of

from kwire_cli.source.tls.clear import Clear
from kwire_cli.structs import network


def record(kind, data):
    return network.RECORD.build({"type": kind, "version": network.TLS_1_2, "length": len(data)}) + data


HELLO = record(network.HANDSHAKE, b"\x01\0\0\x02ab")
ALERT = record(network.ALERT, b"\x02\x2a")
KEYS = record(network.CHANGE_CIPHER_SPEC, b"\x01")


@given(st.integers(1, len(HELLO + ALERT)))
def test_pieces_of_any_size(size):
    clear = Clear()
    said = HELLO + ALERT
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    assert [name for piece in pieces for name in clear.feed(0, piece)] == ["ClientHello", "alert bad_certificate"]


def test_what_keys_hide_has_no_name():
    clear = Clear()
    hidden = record(network.ALERT, bytes(26)) + record(network.HANDSHAKE, b"\x01\0\0\0")
    assert [*clear.feed(0, HELLO + KEYS + hidden)] == ["ClientHello"]
    assert [*clear.feed(0, record(network.APPLICATION_DATA, b"x") + ALERT)] == []
    assert [*clear.feed(1, HELLO)] == ["ClientHello"]


@given(st.binary(max_size=200), st.binary(max_size=60))
def test_any_bytes(data, certificate):
    clear = Clear()
    message = b"\x0b" + len(certificate).to_bytes(3) + certificate
    assert next(clear.feed(0, record(network.HANDSHAKE, message) + data)).startswith("Certificate")


def test_a_certificate_names_its_times():
    lines = [line for line in traffic_of(INCIDENTS / "expired-certificate.pcapng") if not is_connection(line)]
    names = [name for line in lines for name in line.seen.content]
    assert names == [
        "ClientHello", "ServerHello", "Certificate valid from 2026-10-19T11:56:58Z to 2026-10-29T11:56:58Z",
        "ServerKeyExchange", "ServerHelloDone", "alert bad_certificate",
    ]  # fmt: skip
