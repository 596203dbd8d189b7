"""The compiled kernel, called as those do who measure it."""

import pytest
from golden_rows import sample

from kwire_cli.engine.compiled import walker
from kwire_cli.engine.lower import lower
from kwire_cli.engine.program import Program
from kwire_cli.engine.spans import walk
from kwire_cli.structs.messages import declare


@pytest.mark.numba
def test_it_walks_all_jobs_and_refuses_what_does_not_fit():
    pytest.importorskip("numba")
    row = next(row for row in sample() if row.message == "MetadataResponse")
    program = Program()
    entry = lower(declare(row.catalog.message(row.message), row.version), program)
    spans = len(walk(entry, row.body).node)
    walk_all = walker(program, [entry.pc, 0, len(row.body), 0, 0, 0, 0] * 3, row.body)
    assert walk_all() == walk_all() == 3 * spans
    with pytest.raises(ValueError, match="a gap"):
        walker(program, [entry.pc, 0, len(row.body) // 2, 0, 0, 0, 0], row.body)
