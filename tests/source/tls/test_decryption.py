"""Which streams are taken for TLS; what is around it, in it, and where there are no keys for it yet."""

import contextlib
import ssl

import pytest
from kit.captures import TLS13, decrypted, in_pieces, said, secrets, sizes, stream

from kwire_cli.source.packets.model import Data, End, Foreign, Gap, Start
from kwire_cli.source.tls.decryption import Decryption
from kwire_cli.source.tls.stream import MOST_HELD

PROXY = b"PROXY TCP4 10.0.0.1 10.0.0.2 50000 9092\r\n"


def replaced(pieces, opened=True):
    """A stream of these pieces: side and bytes."""
    start = stream(TLS13)[0]
    assert isinstance(start, Start)
    data = [Data(TLS13, side, piece, number, number) for number, (side, piece) in enumerate(pieces, 1)]
    return [start._replace(opened=opened), *data, End(TLS13, "end", None, len(data))]


def test_a_stream_that_is_no_tls_is_untouched():
    for first in (b"\0\0\0\x20\0\x12\0\4", b"GET / HTTP/1.1\r\n", b"SSH-2.0-x\r\n", PROXY + b"\0\0\0\x20"):
        events = replaced([(0, first), (1, b"\x16\x03\x03 says the other"), (0, b"\x16\x03\x01\0\5hello")])
        assert said(decrypted(events)) == said(events)
        assert not [event for event in decrypted(events) if isinstance(event, Foreign)]


@pytest.mark.parametrize("size", [1, 7, 40, 10_000])
def test_behind_a_proxy_header(size):
    events = stream(TLS13)
    first = next(position for position, event in enumerate(events) if isinstance(event, Data))
    events[first] = events[first]._replace(data=PROXY + events[first].data)
    events = in_pieces(events, size)
    whole = said(decrypted(stream(TLS13)))
    found = decrypted(events)
    assert said(found) == {(TLS13, 0): PROXY + whole[TLS13, 0], (TLS13, 1): whole[TLS13, 1]}
    assert sizes(found) == sizes(events)


def test_what_cannot_be_told_does_not_wait_for_ever():
    """The client's first bytes are lost, and the broker says nothing."""
    start, end = stream(TLS13)[0], End(TLS13, "end", None, 99)
    hole = Gap(TLS13, 0, 10, "lost", None, 1)
    pieces = [Data(TLS13, 0, bytes(1000), None, number) for number in range(2, 2 + MOST_HELD // 1000)]
    assert decrypted([start, hole, *pieces])[1:] == []
    assert decrypted([start, hole, *pieces, pieces[0]])[1:] == [hole, *pieces, pieces[0]]
    assert decrypted([start, hole, pieces[0], end])[1:] == [hole, pieces[0], end]


def test_keys_that_come_late(tmp_path):
    """A client writes its key log behind its packets: handshakes may be lost, data are not."""
    path, log = tmp_path / "keys", b"".join(secret.data for secret in secrets())
    path.write_bytes(b"")
    whole = said(decrypted(stream(TLS13)))
    for late in range(1, 6):
        path.write_bytes(b"")
        found, out = Decryption([str(path)]), []
        seen = 0
        for event in stream(TLS13):
            seen += isinstance(event, Data)
            if seen == late + 1:
                path.write_bytes(log)
            out += found.take([event])
        if late <= 2:  # before the client's first data
            assert said(out) == whole
        assert sizes(out) == sizes(stream(TLS13))


def test_another_protocol_in_tls_and_records_of_all_sizes(tmp_path):
    """A connection of Python's own: what is said goes through, in records up to the largest."""
    keys = tmp_path / "keys"
    client, server = _contexts(tmp_path, keys)
    pieces = [b"GET / HTTP/1.1\r\n\r\n", bytes(1), bytes(16384), bytes(100_000)]
    events = replaced(_spoken(client, server, pieces))
    found = Decryption([str(keys)])
    out = [each for event in events for each in found.take([event])]
    assert said(out) == {(TLS13, 0): b"".join(pieces), (TLS13, 1): b"".join(reversed(pieces))}
    assert sizes(out) == sizes(events)


def _contexts(folder, keys):
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "broker")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1)
    )
    pem = serialization.Encoding.PEM
    text = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "both.pem").write_bytes(text + made.sign(key, hashes.SHA256()).public_bytes(pem))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "both.pem")
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode, client.keylog_filename = False, ssl.CERT_NONE, str(keys)
    return client, server


def _spoken(client, server, pieces):
    """What two ends that say these pieces, each in its own order, send: side and bytes."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    one, other, sent = ssl.MemoryBIO(), ssl.MemoryBIO(), []
    ends = client.wrap_bio(to_client, one), server.wrap_bio(to_server, other, server_side=True)

    def move():
        for side, (source, target) in enumerate(((one, to_server), (other, to_client))):
            if data := source.read():
                sent.append((side, data))
                target.write(data)

    for _ in range(4):
        for end in ends:
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
            move()
    for piece, answer in zip(pieces, reversed(pieces), strict=True):
        ends[0].write(piece)
        move()
        ends[1].write(answer)
        move()
    return sent
