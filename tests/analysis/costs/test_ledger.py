import pytest
from golden_rows import sample

import kwire_cli as kwire
from kwire_cli.analysis.costs.ledger import Row
from kwire_cli.message.decoded import decode

BODY = bytes.fromhex("0000 03 0012 0000 0004 00 0003 0000 000c 00 00000000 02 01 08 0000000000000007 63 02 0102")


def test_each_field_has_a_row_of_prefixes_and_values():
    assert kwire.ledger(kwire.decode(BODY, message="ApiVersionsResponse", version=3)) == [
        Row("errorCode", 0, 2, 1),
        Row("apiKeys", 1, 0, 1),
        Row("apiKeys[].apiKey", 0, 4, 2),
        Row("apiKeys[].minVersion", 0, 4, 2),
        Row("apiKeys[].maxVersion", 0, 4, 2),
        Row("apiKeys[]._tags", 2, 0, 2),
        Row("throttleTimeMs", 0, 4, 1),
        Row("_tags", 1, 0, 1),
        Row("finalizedFeaturesEpoch", 2, 8, 2),
        Row("_tags[]", 2, 2, 2),
    ]


@pytest.mark.parametrize("row", sample(), ids=str)
def test_the_rows_add_up_to_the_size(row):
    for data in (row.body, row.body[: len(row.body) // 2], row.body + b"\1\2"):
        decoded = decode(row.catalog, data, row.message, row.version)
        rows = kwire.ledger(decoded)
        assert sum(cost.prefix_bytes + cost.value_bytes for cost in rows) == len(data)
        assert len({cost.path for cost in rows}) == len(rows)


def test_what_was_not_decoded_is_a_row_named_gap():
    assert kwire.ledger(kwire.decode(BODY[:7], message="ApiVersionsResponse", version=3))[-1] == Row("gap", 0, 0, 1)
    assert kwire.ledger(kwire.decode(BODY[:6], message="ApiVersionsResponse", version=3))[-1] == Row("gap", 0, 1, 1)
    assert kwire.ledger(kwire.decode(BODY + b"\0\0", message="ApiVersionsResponse", version=3))[-1] == Row(
        "gap", 0, 2, 1
    )


def test_what_was_guessed_is_one_row():
    assert kwire.ledger(kwire.decode(BODY, message="ApiVersionsResponse", version=99)) == [
        Row("guess", 0, len(BODY), 1)
    ]
