"""The compiled kernel against the kernel, message by message: all golden bodies, all samples, and mutations of them."""

import random
import stat

import numpy as np
import pytest
from hypothesis import given, strategies as st
from kit.logs import RECORD_SETS
from kit.messages import by_layout, definition, field, hostile_layouts, sample, shared, walked
from kit.peers import mutated

from kwire_cli.engine import compiled as c, kernel, numba_loops
from kwire_cli.engine.arrow import sum_walk
from kwire_cli.engine.lower import lower, records_entry
from kwire_cli.engine.program import Program
from kwire_cli.engine.spans import walk
from kwire_cli.structs.messages import declare


def moved(spans, by):
    """Columns of spans, places counted from `by`, and what else there is to compare."""
    used, flags = spans.used - by, dict(spans.flags)
    return [*spans.node], [at - by for at in spans.value], [at - by for at in spans.end], flags, used, spans.lost


def check(entry, bodies):
    many = walked(entry, bodies)
    for job, body in enumerate(bodies):
        assert moved(many.spans(job), int(many.jobs[job, 1])) == moved(walk(entry, body), 0)
    starts = [at for body in bodies for at in [0, *walk(entry, body).end][:-1]]
    assert (many.start - np.repeat(many.jobs[:, 1], np.diff(many.first))).tolist() == starts
    assert (
        c.sum_many(many.program, many.data, many.jobs) == sum_walk(many, np.zeros(len(many.jobs), np.int64), 1)[0]
    ).all()
    return many


def test_all_bodies_of_the_sample():
    for _, _, entry, bodies in by_layout(sample()):
        assert check(entry, bodies).complete.all()


@pytest.mark.shared
def test_all_golden_bodies():
    assert sum(len(check(entry, bodies).jobs) for _, _, entry, bodies in by_layout(shared())) == len(shared())


def test_damaged_bodies():
    found = [check(entry, bodies).complete for _, _, entry, bodies in hostile_layouts()]
    assert not all(complete.all() for complete in found)


def test_mutations():
    rng = random.Random(17)
    for _, _, entry, bodies in by_layout(sample()):
        check(entry, [mutated(body, rng) for body in bodies for _ in range(6)])


@given(st.lists(st.binary(max_size=60), max_size=8), st.sampled_from(sorted(RECORD_SETS)))
def test_any_bytes_as_records(bodies, name):
    check(records_entry(RECORD_SETS[name]), bodies)


def test_the_kernel_resumes_where_the_output_was_full(monkeypatch):
    monkeypatch.setattr(c, "CHUNK", 8)
    monkeypatch.setattr(c, "MEASURED", 8)
    for _, _, entry, bodies in by_layout(sample()):
        if max(map(len, bodies)) > 200:
            check(entry, bodies)
    for _, _, entry, bodies in [*hostile_layouts()][:40]:
        check(entry, bodies)


def test_some_messages_of_a_walk():
    for _, _, entry, bodies in [*hostile_layouts()][::20]:
        many = walked(entry, bodies)
        count = len(bodies)
        some = many.part(1, count - 1)
        assert [some.spans(k) for k in range(count - 2)] == [many.spans(k) for k in range(1, count - 1)]
        odd = many.only(np.arange(1, count, 2))
        assert [odd.spans(k) for k in range(count // 2)] == [many.spans(k) for k in range(1, count, 2)]


def test_no_messages_and_messages_without_bytes():
    entry = records_entry(RECORD_SETS["v2"])
    assert len(walked(entry, []).node) == 0
    none = check(entry, [b"", b"", b""])
    assert none.first.tolist() == [0, 0, 0, 0]
    assert none.complete.all()


def test_a_program_that_has_grown_is_made_anew():
    program = Program()
    for kind, body in (("int32", bytes(4)), ("string", b"\0\2hi"), ("[]int8", b"\0\0\0\1\7")):
        check(lower(declare(definition(field(kind)), 0), program), [body, body])


def test_machine_code_is_kept_in_a_folder_of_the_owners(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = numba_loops.cache_folder(kernel.run)
    assert folder.parent == tmp_path / "cache"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert numba_loops.cache_folder(kernel.run) == folder
    # One that others can write to is not used: what lies there would be run.
    (tmp_path / "cache").chmod(0o777)
    assert numba_loops.cache_folder(kernel.run).parent != tmp_path / "cache"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "named"))
    assert numba_loops.cache_folder(kernel.run).parent == tmp_path / "named"


def test_another_source_has_another_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    known = numba_loops.cache_folder(kernel.run)
    real = numba_loops.inspect.getsource
    monkeypatch.setattr(numba_loops.inspect, "getsource", lambda module: real(module) + "# changed")
    assert numba_loops.cache_folder(kernel.run) != known


def test_without_a_folder_nothing_is_kept(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_bytes(b"")
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(file / "no"))
    monkeypatch.setattr(numba_loops.tempfile, "gettempdir", lambda: str(file))
    assert numba_loops.cache_folder(kernel.run) is None
    out = np.zeros(1, np.int64)
    c.compiled.__wrapped__(numba_loops.fixed_numbers)(c.octets(b"\xff\xfe"), np.zeros(1, np.int64), 2, True, out)
    assert out[0] == -2
