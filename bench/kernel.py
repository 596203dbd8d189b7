"""Block `kernel`: how fast bodies are read, by kwire's kernel, by construct, and by other readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import construct
import rivals
from inputs import METADATA, MIX, Body, bodies
from stock import stock
from timing import Row, find, measure_in_turns, print_verdict, ratio, repeat

from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.spans import walk
from kwire_cli.structs.messages import declare

if TYPE_CHECKING:
    from collections.abc import Callable

PLAIN = "kwire, plain Python"
COMPILED = "kwire, compiled"
OURS = "kwire's declaration, parsed by construct"
STOCK = "stock construct"
KIO = "kio"
KAFKA_PYTHON = "kafka-python"


def block(rounds: int) -> None:
    rows = contestants()
    measure_in_turns(rows, rounds)
    print_rows(rows)
    print("\n  ratios")
    for name in METADATA:
        print_verdict(f"{name}: {STOCK} / {PLAIN}", ratio(rows, name, STOCK, PLAIN), at_least=8)
    print_verdict(f"{MIX}: {STOCK} / {PLAIN}", ratio(rows, MIX, STOCK, PLAIN), at_least=8)
    for name in METADATA:
        print_verdict(f"{name}: {KIO} / {COMPILED}", ratio(rows, name, KIO, COMPILED), at_least=5)
    print(f"\n  no target: {OURS} / {PLAIN}, and what Python's readers need")
    for name, slow, fast in [
        (METADATA[0], OURS, PLAIN),
        (MIX, OURS, PLAIN),
        (METADATA[0], KAFKA_PYTHON, PLAIN),
        (METADATA[0], PLAIN, KIO),
    ]:
        if value := ratio(rows, name, slow, fast):
            print(f"  {name + ': ' + slow + ' / ' + fast:<76} {value:>7.2f}x")


def contestants() -> list[Row]:
    """All rows, checked and ready to run."""
    rows: list[Row] = []
    peers, missing = _peers()
    for name in (*METADATA, MIX):
        todo = bodies(name)
        rows += _kwire(name, todo) + _construct(name, todo)
        for peer in (KIO, KAFKA_PYTHON):
            if peer in missing:
                rows.append(Row(name, peer, None, missing[peer]))
                continue
            pairs = _pairs(peers[peer], todo)
            if name != MIX:
                _check(peer, pairs)
                rows.append(Row(name, peer, _reading(pairs)))
            elif pairs:
                # a peer reads a part of the mix only: kwire runs on that very part beside it
                part = f"{MIX}, the {len(pairs)} that {peer} reads"
                rows += [*_kwire(part, [body for _, body in pairs]), Row(part, peer, _reading(pairs))]
    return rows


def _pairs(peer: Callable[[Body], Any], todo: list[Body]) -> list[tuple[Any, Body]]:
    return [(read, body) for body in todo if (read := peer(body))]


def _kwire(name: str, todo: list[Body]) -> list[Row]:
    entries = [(entry_for(body.spec, body.version), body.data) for body in todo]
    spans = sum(len(walk(entry, data).node) for entry, data in entries)

    def plain() -> None:
        for entry, data in entries:
            walk(entry, data)

    rows = [Row(name, PLAIN, lambda: repeat(plain, len(todo)))]
    try:
        from compiled import body_walker

        copies = max(1, 1000 // len(todo))
        walk_all = body_walker(todo, copies)
    except ImportError:
        return [*rows, Row(name, COMPILED, None, "no numba")]
    assert walk_all() == spans * copies, "compiled and interpreted runs differ"
    return [*rows, Row(name, COMPILED, lambda: repeat(walk_all, len(todo) * copies))]


def _construct(name: str, todo: list[Body]) -> list[Row]:
    ours = [(declare(body.spec, body.version), body) for body in todo]
    theirs = [(stock(decl), body) for decl, body in ours]
    for decl, body in theirs:
        construct.Struct("body" / decl, construct.Terminated).parse(body.data)
    return [
        Row(name, title, _reading([(decl.parse, body) for decl, body in decls]))
        for title, decls in ((OURS, ours), (STOCK, theirs))
    ]


def _reading(pairs: list[tuple[Callable[[bytes], Any], Body]]) -> Callable[[], float]:
    def read_all() -> None:
        for read, body in pairs:
            read(body.data)

    return lambda: repeat(read_all, len(pairs))


def _check(peer: str, pairs: list[tuple[Callable[[bytes], Any], Body]]) -> None:
    for read, body in pairs:
        partitions = [partition for topic in read(body.data).topics for partition in topic.partitions]
        assert sum(partition.leader_id for partition in partitions) == 150, f"{peer} read something else"


def _peers() -> tuple[dict[str, Any], dict[str, str]]:
    made, missing = {}, {}
    for name, make in ((KIO, rivals.kio), (KAFKA_PYTHON, rivals.kafka_python)):
        try:
            made[name] = make()
        except ImportError:
            missing[name] = "not installed"
    return made, missing


def print_rows(rows: list[Row]) -> None:
    for name in dict.fromkeys(row.input for row in rows):
        print(f"\n  {name}")
        base = find(rows, name, COMPILED).seconds or find(rows, name, PLAIN).seconds or 1.0
        for row in sorted((row for row in rows if row.input == name), key=lambda row: row.seconds or 1e9):
            if row.seconds is None:
                print(f"    {row.name:<42} not here ({row.why})")
            else:
                print(f"    {row.name:<42} {row.seconds * 1e6:>10.2f} us/message {row.seconds / base:>9.1f}x")
