"""Records out of bytes in pieces of any size, and found again behind losses."""

from hypothesis import given, strategies as st

from kwire_cli.source.tls.records import Lost, Records, reads_as_record
from kwire_cli.structs import network


def record(data, kind=network.APPLICATION_DATA, version=network.TLS_1_2, length=None):
    return (
        network.RECORD.build({"type": kind, "version": version, "length": len(data) if length is None else length})
        + data
    )


def taken(records):
    out = []
    while (found := records.next()) is not None:
        out.append(found if isinstance(found, Lost) else found.data)
        if records.searching:
            out.append(records.found())
    return out


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.lists(st.integers(1, 30), min_size=1, max_size=40))
def test_pieces_of_any_size(texts, cuts):
    data = b"".join(map(record, texts))
    records, out = Records(), []
    while data:
        cut = cuts[len(data) % len(cuts)]
        records.feed(data[:cut])
        data = data[cut:]
        out += taken(records)
    assert out == texts
    assert records.left == 0
    assert records.position == sum(map(len, map(record, texts)))


@given(st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=6), st.data())
def test_every_byte_is_told_behind_a_loss(texts, data):
    whole = b"".join(map(record, texts))
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, len(whole)))
    records, out = Records(), []
    records.feed(whole[:start])
    out += taken(records)
    if stop > start:
        records.lose(stop - start)
        out += taken(records)
    records.feed(whole[stop:])
    out += taken(records)
    told = sum(each.size if isinstance(each, Lost) else len(record(each)) for each in out)
    assert told + records.left == len(whole)


def test_what_reads_as_a_record_need_not_be_one():
    records = Records()
    records.lose(10)
    inner = record(b"no", kind=network.HANDSHAKE)
    records.feed(inner + record(b"yes"))
    assert records.next().data == b"no"
    records.passed()
    assert records.next().data == b"yes"
    assert records.found() == Lost(10 + len(inner))


def test_what_is_no_header_ends_it():
    for data in (
        b"GET / HTTP/1.1",
        record(b"", length=0),
        record(b"", length=network.MAX_RECORD + 1),
        record(b"a", kind=25),
        record(b"a", version=0x0403),
    ):
        records = Records()
        records.feed(record(b"good") + data)
        assert taken(records) == [b"good"]
        assert records.broken
        assert records.position == len(record(b"good"))


def test_what_begins_as_records_do():
    assert reads_as_record(record(b"a") + record(b"b"))
    assert reads_as_record(record(b"a" * 100)[:50])
    assert reads_as_record(record(b"a") + record(b"b")[:3])
    assert not reads_as_record(record(b"a") + b"GET / HTTP")
    assert not reads_as_record(b"\x17\x03\x03")
    assert not reads_as_record(b"\0\0\0\x20\0\x12\0\4")
