"""The public API as a type checker sees it: `mypy --strict` reads this file, and nobody runs it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_type

import kwire_cli as kwire
from kwire_cli.analysis.opening import Subject, Subjects
from kwire_cli.answer import Answer, Table
from kwire_cli.engine.codes import Anomaly
from kwire_cli.message.decoded import Decoded
from kwire_cli.message.frames import Frame
from kwire_cli.records.batch import Batch
from kwire_cli.records.gaps import Gap
from kwire_cli.spec.catalog import Catalog

subjects = kwire.open("incident.pcap", "more.pcap", filter="error", port=9092)
assert_type(subjects, Subjects)
assert_type(iter(subjects), Iterator[Subject])
for subject in subjects:
    assert_type(subject["time"], Any)
    assert_type(subject.frame, Frame | None)
    assert_type(subject.batch, Batch | Gap | None)

answer = kwire.diagnose("incident.pcap", least="error")
for each in (kwire.summary, kwire.stats, kwire.clients, kwire.transactions, kwire.sequence):
    assert_type(each("a", port=9092, tls_keylog=["keys"], specs=["3.9", Path("mine")]), Answer)
assert_type(kwire.groups("a", names=["b"]), Answer)
assert_type(kwire.overhead("a", by=["api"]), Answer)
assert_type(kwire.compare("a", forms=["packed"], assume=["zone=a"]), Answer)
assert_type(kwire.verify("a", deep=True), Answer)
assert_type(answer, Answer)
assert_type(answer["findings"], Table)
assert_type(answer.tables, list[Table])
assert_type(answer.notes, list[str])
assert_type(answer.found, bool)
assert_type([column.name for column in answer["findings"].columns], list[str])

body = kwire.decode(b"", message="HeartbeatRequest", version=4)
assert_type(body, Decoded)
assert_type(body.anomalies, list[Anomaly])
assert_type(body.size, int)
assert_type(kwire.encode({}, message="HeartbeatRequest", version=4), bytes)
assert_type(kwire.read_frames("a"), Iterator[Frame])
assert_type(kwire.read_records(b""), Iterator[Batch | Gap])
assert_type(kwire.write_records([]), bytes)
assert_type(kwire.catalog(), Catalog)

kwire.decode("0012", message="HeartbeatRequest", version=4)  # type: ignore[arg-type] # text is no bytes
kwire.encode(b"", message="HeartbeatRequest", version=4)  # type: ignore[arg-type] # no fields
kwire.diagnose("a", least="high")  # type: ignore[arg-type] # no severity
kwire.stats("a", ports=1)  # type: ignore[call-arg] # no argument
kwire.open(1)  # type: ignore[arg-type] # no path
answer[0]  # type: ignore[index] # tables have names
