"""Batches that Kafka's own classes wrote: the kernel and construct read the same in them, and build the same bytes.

What they mean is compared with Kafka in tests/records/test_golden_record_sets.py.
"""

import pytest
from kit.messages import record_sets

from kwire_cli.structs.records import v0, v1, v2

DECLARED = {
    0: (v0.MESSAGE_SET, "messages", v0.MESSAGE),
    1: (v1.MESSAGE_SET, "messages", v1.MESSAGE),
    2: (v2.BATCHES, "batches", v2.BATCH),
}


@pytest.mark.shared
def test_batches_are_read_and_built_byte_by_byte(read):
    count = 0
    for row in record_sets():
        data = bytes.fromhex(row["hex"])
        at = 0
        for batch in row["batches"]:
            one = data[at : at + batch["size"]]
            at += batch["size"]
            whole, field, element = DECLARED[batch["magic"]]
            found = read(whole, one)
            assert found.anomalies == []
            (value,) = found.value[field]
            assert value == element.parse(one)
            assert element.build(value) == one
            count += 1
    assert count > 300
