"""Reports of `kwire scan` in an embedded Spark: they print what the commands for one machine print for the same
input.
"""

import json
import re
from functools import partial

import pytest
from kit.commands import ROOT, kwire
from kit.logs import line

from kwire_cli.cli.reports import REPORTS

SEGMENTS, LOGS, LOG = (str(ROOT / "samples" / name) for name in ("segments", "logs", "request-logs/kafka-request.log"))
CAPTURE, MIDSTREAM = (
    str(ROOT / "samples" / "captures" / name) for name in ("kafka-python-4.4.0.pcapng", "midstream.pcap")
)

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


@pytest.fixture(autouse=True)
def at_root(monkeypatch):
    monkeypatch.chdir(ROOT)


INCIDENTS = ROOT / "samples" / "incidents"
TLS = "samples/tls/broker.pcapng"
KEYS = ("--tls-keylog", "samples/tls/broker.keys")
BY = ("--by", "client,topic,partition", "--by", "message,version", "--by", "broker,file", "--by", "field,kind")
COMMANDS = {
    "advise": ("compare", "--advise"),
    "state": ("dump", "--state"),
    "verify": ("dump", "--verify"),
}
"""Commands for one machine whose names differ from those of the reports."""
ANSWERS = [
    ("advise", [CAPTURE], ("--api", "Fetch", "--message", "MetadataResponse", "--min-saving", "5")),
    ("advise", [LOG, CAPTURE, SEGMENTS], ("--top", "20")),
    ("overhead", [CAPTURE], (*BY, "--top", "30", "--no-limits")),
    ("overhead", [TLS], (*KEYS, "--no-limits")),
    ("state", [LOGS, str(INCIDENTS / "hanging-transaction")], ()),
    ("verify", [SEGMENTS, LOGS], ()),
]


def without_frames(document):
    """An answer without numbers of frames and streams: scan reads connections apart, and names packets.

    Files of captures have whole paths there, and a folder beside a capture makes no capture point.
    """
    if isinstance(document, dict):
        return {
            key: without_frames(value)
            for key, value in document.items()
            if key not in {"frame", "frames", "stream", "requestFrame", "capture", "file", "packet"}
        }
    return [without_frames(value) for value in document] if isinstance(document, list) else document


@pytest.mark.parametrize(("report", "paths", "options"), ANSWERS)
def test_a_report_says_what_its_command_says(report, paths, options):
    one = kwire("scan", *paths, "--report", report, *options, "--format", "json")
    two = kwire(*COMMANDS.get(report, (report,)), *paths, *options, "--format", "json")
    assert one.code == two.code, one.err + two.err
    answer = json.loads(one.out)
    assert without_frames(answer) == without_frames(json.loads(two.out))
    assert answer["tables"]


def test_each_report_with_a_command_is_compared():
    assert {report for report, *_ in ANSWERS} == REPORTS.keys()


def test_a_report_is_printed_as_its_command():
    fmt = "table"
    one, two = (
        kwire(*command, CAPTURE, "--by", "client", "--no-limits", "--format", fmt)
        for command in (("scan", "--report", "overhead"), ("overhead",))
    )
    assert (one.code, one.out) == (two.code, two.out)
    assert re.search(r"kwire: [\d,]+ rows, \d+ files?, [\d,]+ bytes read", one.err)


def test_limits_of_overhead_name_the_packets_of_their_frames():
    answers = (
        kwire(*command, CAPTURE, "--format", "json").out
        for command in (("scan", "--report", "overhead"), ("overhead",))
    )
    one, two = (json.loads(text)["tables"]["limits"] for text in answers)
    lines = map(json.loads, kwire("decode", CAPTURE, "--format", "jsonl").out.splitlines())
    packets = {line["frame"]: line["packet"] for line in lines} | {None: None}
    assert [limit["packet"] for limit in one] == [packets[limit["frame"]] for limit in two]
    assert any(limit["packet"] for limit in one)


def test_an_overlay_is_written_as_by_advise(tmp_path):
    files = [tmp_path / name for name in ("scan.json", "advise.json")]
    for file, command in zip(files, (("scan", "--report", "advise"), ("compare", "--advise")), strict=True):
        done = kwire(*command, MIDSTREAM, "--write-overlay", file)
        assert f"{file}: an overlay of " in done.err
    assert files[0].read_bytes() == files[1].read_bytes()


def test_large_request_logs_are_read_in_parts(tmp_path, monkeypatch):
    from kwire_cli.pipeline import reports
    from kwire_cli.source.request_log.reading import parts_of

    log = tmp_path / "broken.log"
    log.write_bytes(
        (ROOT / LOG).read_bytes() + line(12, 4, request={"groupId": 1}, response="") + b"Completed request:{\n"
    )
    whole = kwire("compare", "--advise", log, "--format", "json").out
    monkeypatch.setattr(reports, "parts_of", partial(parts_of, size=3000))
    some = kwire("scan", "--report", "advise", log, "--format", "json")
    assert some.out == whole
    assert re.search(r"broken.log at byte \d+: DAMAGED_LINE", some.err)
    assert re.search(r"broken.log at byte \d+: HeartbeatRequest 4: groupId: .*left out$", some.err, re.MULTILINE)
    assert kwire("scan", "--report", "advise", log, "--fail-fast").code == 2


def test_what_many_tasks_made_is_put_together_in_tasks(monkeypatch):
    from kwire_cli.pipeline import parts

    inputs = [SEGMENTS, MIDSTREAM, LOG]
    commands = [("advise", inputs), ("verify", inputs[:1])]

    def printed():
        return [kwire("scan", "--report", name, *paths, "--format", "json").out for name, paths in commands]

    before = printed()
    monkeypatch.setattr(parts, "FEW", 2)
    assert printed() == before
    assert all(before)


def test_what_does_not_go_together_is_refused():
    for options, why in (
        (("--report", "verify", "--by", "api"), "--by goes with --report overhead"),
        (("-o", "lake", "--half"), "--half goes with --report advise"),
        (("-o", "lake", "--fail-fast"), "--fail-fast goes with --report"),
        (("--report", "verify", "--tables", "frames"), "--tables is for tables, and a report writes none"),
        (("--report", "verify", "--key", "text"), "--key is for tables, and a report writes none"),
        ((), "give a report with --report, or a folder for tables with -o DIR"),
        (("--report", "overhead", "--by", "colour"), "--by colour: bytes are grouped by api, "),
    ):
        done = kwire("scan", SEGMENTS, *options)
        assert (done.code, done.out) == (2, "")
        assert why in done.err
    none = kwire("scan", "--report", "advise", "samples/segments/orders-zstd-0")
    assert (none.code, "this holds no message that is certain" in none.err) == (2, True)
