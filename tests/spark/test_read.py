"""`kwire_cli.spark.read`: tables of inputs as DataFrames, without a lake."""

import pytest
from kit.captures import SAMPLES

import kwire_cli
from kwire_cli.errors import InputError
from kwire_cli.spark import read

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

INPUTS = (
    SAMPLES / "incidents" / "rebalancing.pcap",
    SAMPLES / "request-logs" / "kafka-request.log",
    SAMPLES / "incidents" / "fenced-producer",
)
COLUMNS = {
    "calls": ("api", "client_id", "latency_us", "errors", "request_place"),
    "group_events": ("group_id", "kind", "member", "place"),
    "transactions": ("transactional_id", "result", "errors"),
    "bodies_join_group_request": ("api_version", "body"),
}


@pytest.mark.parametrize("table", COLUMNS)
def test_rows_are_those_of_each_input_by_itself(spark, table):
    columns = COLUMNS[table]
    rows = [row.asDict(recursive=True) for row in read(spark, INPUTS, table, columns=columns).collect()]
    assert {tuple(row) for row in rows} == {("input", *columns)}
    count = 0
    for path in INPUTS:
        with kwire_cli.tables(path) as tables:
            relation = tables.sql(f"select {', '.join(columns)} from {table}")
            count += len(relation.fetchall())
    assert len(rows) == count > 0


def test_names_are_checked_before_a_task_starts(spark):
    for table, columns in (("no_such_table", ()), ("calls", ("no_such_column",)), ('calls"; drop table calls', ())):
        with pytest.raises(InputError):
            read(spark, INPUTS, table, columns=columns)
    with pytest.raises(InputError, match="there is no such file"):
        read(spark, ["no-such-file.pcap"], "calls")


def test_secrets_are_hidden(spark):
    def passwords(**settings):
        paths = [SAMPLES / "incidents" / "sasl.pcap"]
        rows = read(spark, paths, "bodies_sasl_authenticate_request", columns=["body"], **settings).collect()
        return [row.body for row in rows]

    assert not any("authBytes" in str(body) for body in passwords())
    assert any("authBytes" in str(body) for body in passwords(show_secrets=True))
