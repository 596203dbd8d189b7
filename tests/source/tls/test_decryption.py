"""Which streams are taken for TLS; what is around it, in it, and where there are no keys for it yet."""

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
    hole = Gap(TLS13, 0, 10, None, 1)
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
