"""The types of columns in Parquet and Arrow files."""

import pytest

from kwire_cli.cli.column_types import of_captures, of_logs
from kwire_cli.spec.catalog import catalog


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("frame", "int"),
        ("time", "time"),
        ("topic", "[]text"),
        ("client", "text"),
        ("throttle_ms", "int"),
        ("maxWaitMs", "int"),
        ("header.correlationId", "int"),
        ("partitionIndex", "[]int"),
        ("body.topics.partitions.partitionIndex", "[]int"),
        ("controllerId", "int"),
        ("isInternal", "[]flag"),
        ("records.offset", "[]int"),
        ("records.key", "[]text"),
        ("crcValid", "[]flag"),
        ('header."trace-id"', "[]text"),
        ("unknownTaggedFields", "text"),
    ],
)
def test_columns_of_captures_have_the_types_of_fields(name, kind):
    [field] = of_captures([name], catalog())
    assert (field.name, field.type) == (name, kind)


def test_columns_of_logs_have_types():
    names = ("position", "maxTimestamp", "isControl", "headers", "compression")
    assert [field.type for field in of_logs(names)] == ["int", "time", "flag", "headers", "text"]
