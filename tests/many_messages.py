"""Many messages of one layout walked together, for the tests of what is compiled."""

from collections import defaultdict

from golden_rows import sample

from kwire_cli.engine.lower import entry_for


def walked(entry, bodies):
    """The compiled walk over these bodies, one after the other."""
    from kwire_cli.engine.compiled import jobs_of, octets, walk_many

    starts, at = [], 0
    for body in bodies:
        starts.append(at)
        at += len(body)
    return walk_many(entry.program, octets(b"".join(bodies) or b"\0"), jobs_of(entry, starts, [*starts[1:], at]))


def by_layout(rows):
    """The rows of each layout: definition, version, entry, bodies."""
    groups = defaultdict(list)
    for row in rows:
        groups[row.kafka, row.message, row.version].append(row)
    for same in groups.values():
        spec = same[0].catalog.message(same[0].message)
        yield spec, same[0].version, entry_for(spec, same[0].version), [row.body for row in same]


def hostile(body):
    """Cut and changed forms of a body."""
    yield body[: len(body) // 2]
    yield body + b"\0"
    yield bytes(byte ^ 0xFF if k % 7 == 3 else byte for k, byte in enumerate(body))
    yield bytes(byte ^ 1 if k % 11 == 5 else byte for k, byte in enumerate(body))
    yield b"\xff" * 12


def hostile_layouts():
    """The sample's layouts with a few of their bodies, damaged."""
    for spec, version, entry, bodies in by_layout(sample()):
        yield spec, version, entry, [bad for body in bodies[:3] for bad in hostile(body)]
