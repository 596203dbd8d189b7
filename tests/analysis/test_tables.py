"""SQL over inputs, by the library."""

import pyarrow as pa
import pytest
from kit.calls import SAMPLES

import kwire_cli as kwire
from kwire_cli.errors import InputError

MIDSTREAM = SAMPLES / "captures" / "midstream.pcap"


def test_queries_name_tables_columns_and_views():
    with kwire.tables(MIDSTREAM) as tables:
        assert tables.sql("select count(*) from frames").fetchall() == [(230,)]
        first = tables.sql("select frame, api, api_version from frames order by frame limit 1")
        assert first.fetchall() == [(1, "Fetch", 12)]
        slowest = tables.sql("select api, max(served_us) from calls group by api order by 2 desc limit 1").fetchall()
        assert slowest == [("Produce", 5790)]
        body = tables.sql("select body.groupId, count(*) from bodies_heartbeat_request group by all").fetchall()
        assert body == [("edge-edge-mid2", 10)]
        assert first.fetchall() == [(1, "Fetch", 12)]  # an earlier answer stays readable


def test_all_columns_after_some():
    with kwire.tables(MIDSTREAM) as tables:
        some = tables.sql("select frame from frames limit 1").columns
        assert some == ["frame"]
        columns = tables.sql("select * from frames limit 1").columns
        assert {"frame", "packet", "latency_us", "topics", "anomalies"} <= {*columns}


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("copy frames to 'stolen.csv'", "one SELECT"),
        ("select 1; select 2", "one SELECT"),
        ("install httpfs", "one SELECT"),
        ("select * from read_csv('/etc/hostname')", "disabled"),
        ("select * from local", "does not exist"),
        ("select nothing from frames", "nothing"),
    ],
)
def test_a_query_reads_tables_and_nothing_else(query, why):
    """Neither files nor variables of the program."""
    local = pa.array([1])
    assert len(local) == 1
    with kwire.tables(MIDSTREAM) as tables, pytest.raises(InputError, match=why):
        tables.sql(query).fetchall()


def test_an_input_that_is_not_there():
    with kwire.tables("no-such.pcap") as tables, pytest.raises(InputError, match=r"no-such\.pcap"):
        tables.sql("select 1 from frames")


def test_secrets_are_in_no_column_unless_they_are_asked_for():
    capture = SAMPLES / "incidents" / "sasl.pcap"
    query = "select body.authBytes from bodies_sasl_authenticate_request"
    with kwire.tables(capture) as tables, pytest.raises(InputError, match="authBytes"):
        tables.sql(query)
    with kwire.tables(capture, show_secrets=True) as tables:
        assert all(token for (token,) in tables.sql(query).fetchall())


@pytest.mark.parametrize(
    ("given", "results"),
    [
        ("fenced-producer.pcap", ["committed", "aborted", "committed"]),
        ("long-transaction.log", ["committed"]),
        ("hanging-transaction/payments-0", ["committed", "open", "committed", "committed", "committed"]),
    ],
)
def test_tables_of_transactions(given, results):
    """A replay fills them from captures, request logs and logs of partitions."""
    with kwire.tables(SAMPLES / "incidents" / given) as tables:
        rows = tables.sql("select result, places[1].what, duration_s from transactions order by ordinal").fetchall()
        [(events, without)] = tables.sql(
            "select count(*), count(*) filter (place.file is null and place.frame is null) from transaction_events"
        ).fetchall()
    assert [row[0] for row in rows] == results
    assert all(row[1] for row in rows)
    assert (events > 0, without) == (True, 0)
