"""Reports of `kwire scan` in an embedded Spark: they print what the commands for one machine print for the same
input.
"""

import json
import re
from functools import partial

import pytest
from command_line import ROOT, kwire
from log_lines import line

SEGMENTS, LOGS, LOG = (str(ROOT / "samples" / name) for name in ("segments", "logs", "request-logs/kafka-request.log"))
CAPTURE, MIDSTREAM = (
    str(ROOT / "samples" / "captures" / name) for name in ("kafka-python-4.4.0.pcapng", "midstream.pcap")
)

pytestmark = [pytest.mark.spark, pytest.mark.numba, pytest.mark.usefixtures("spark")]


@pytest.fixture(autouse=True)
def at_root(monkeypatch):
    monkeypatch.chdir(ROOT)


BY_COMMAND = {"advise": ("compare", "--advise"), "stats": ("stats",)}
"""Commands for one machine whose names differ from those of the reports."""


def both(command, paths, *options, fmt="json"):
    """What scan prints, and the command."""
    one, two = (
        kwire("scan", *paths, "--report", command, *options, "--format", fmt),
        kwire(*BY_COMMAND.get(command, (command,)), *paths, *options, "--format", fmt),
    )
    assert (one.code, two.code) == (0, 0), one.err + two.err
    assert re.search(r"kwire: [\d,]+ rows, \d+ files?, [\d,]+ bytes read", one.err)
    return one.out, two.out


@pytest.mark.parametrize(
    ("paths", "options", "fmt"),
    [
        ([MIDSTREAM], (), "json"),
        ([CAPTURE], ("--half", "--top", "2", "--histograms", "1"), "table"),
        ([CAPTURE], ("--api", "Fetch", "--message", "MetadataResponse", "--min-saving", "5"), "jsonl"),
        ([SEGMENTS, LOGS], (), "json"),
        ([LOG], (), "json"),
        ([SEGMENTS, CAPTURE, LOG], ("--top", "20"), "csv"),
        ([LOG, CAPTURE, SEGMENTS], (), "json"),
    ],
    ids=lambda value: "-".join(each.rpartition("/")[2] for each in value) if isinstance(value, list) else None,
)
def test_advice_is_that_of_advise(paths, options, fmt):
    one, two = both("advise", paths, *options, fmt=fmt)
    assert one == two
    assert one


def test_an_overlay_is_written_as_by_advise(tmp_path):
    files = [tmp_path / name for name in ("scan.json", "advise.json")]
    for file, command in zip(files, (("scan", "--report", "advise"), ("compare", "--advise")), strict=True):
        done = kwire(*command, MIDSTREAM, "--write-overlay", file)
        assert f"{file}: an overlay of " in done.err
    assert files[0].read_bytes() == files[1].read_bytes()


def test_large_request_logs_are_read_in_parts(tmp_path, monkeypatch):
    from kwire_cli.pipeline import reports, request_logs
    from kwire_cli.source.request_log.reading import parts_of

    log = tmp_path / "broken.log"
    log.write_bytes(
        (ROOT / LOG).read_bytes() + line(12, 4, request={"groupId": 1}, response="") + b"Completed request:{\n"
    )
    whole = [kwire(*command, log, "--format", "json").out for command in (("compare", "--advise"), ("stats",))]
    for module in (reports, request_logs):
        monkeypatch.setattr(module, "parts_of", partial(parts_of, size=3000))
    some = [kwire("scan", "--report", name, log, "--format", "json") for name in ("advise", "stats")]
    assert [done.out for done in some] == whole
    assert re.search(r"broken.log at byte \d+: DAMAGED_LINE", some[0].err)
    assert re.search(r"broken.log at byte \d+: HeartbeatRequest 4: groupId: .*left out$", some[0].err, re.MULTILINE)
    assert re.search(r"broken.log at byte \d+: DAMAGED_LINE", some[1].err)
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


def by_packet(text, path):
    """What overhead prints as JSON, with packets in place of frames, as scan names them."""
    packets = {
        row["frame"]: row["packet"]
        for row in map(json.loads, kwire("decode", path, "--format", "jsonl").out.splitlines())
    }
    document = json.loads(text)
    for limit in document["tables"]["limits"]:
        if limit["frame"] is not None:
            limit |= {"file": path, "packet": packets[limit["frame"]], "frame": None}
    return document


@pytest.mark.parametrize("path", [CAPTURE, MIDSTREAM])
def test_overhead_of_a_capture_is_that_of_overhead(path):
    one, two = both("overhead", [path])
    assert json.loads(one) == by_packet(two, path)
    assert json.loads(one)["tables"]["limits"]
    by = (
        "--by",
        "client,topic,partition",
        "--by",
        "message,version",
        "--by",
        "broker,file",
        "--by",
        "field,kind",
        "--top",
        "30",
        "--no-limits",
    )
    for fmt in ("table", "json"):
        one, two = both("overhead", [path], *by, fmt=fmt)
        assert one == two


@pytest.mark.parametrize("report", ["stats", "clients", "overhead", "advise"])
def test_reports_decrypt_tls(report):
    keys = ["--tls-keylog", "samples/tls/broker.keys"]
    command = BY_COMMAND.get(report, (report,))
    limits = ["--no-limits"] if report == "overhead" else []
    done = kwire("scan", "samples/tls/broker.pcapng", "--report", report, *keys, *limits, "--format", "json")
    assert done.code == 0, done.err
    assert json.loads(done.out) == json.loads(
        kwire(*command, "samples/tls/broker.pcapng", *keys, *limits, "--format", "json").out
    )
    assert "Metadata" in done.out


@pytest.mark.parametrize("fmt", ["table", "jsonl", "csv"])
def test_overhead_of_log_directories_is_that_of_overhead(fmt):
    one, two = both("overhead", [SEGMENTS, LOGS], "--by", "topic,partition", "--by", "file", "--by", "kind", fmt=fmt)
    assert one == two
    one, two = both("overhead", [SEGMENTS], fmt=fmt)
    assert one == two


def test_overhead_of_segments_and_captures_together():
    one, two = both("overhead", [MIDSTREAM, SEGMENTS])
    assert json.loads(one) == by_packet(two, MIDSTREAM)


def test_what_does_not_go_together_is_refused():
    for options, why in (
        (("--report", "stats", "--by", "api"), "--by goes with --report overhead"),
        (("-o", "lake", "--half"), "--half goes with --report advise"),
        (("-o", "lake", "--fail-fast"), "--fail-fast goes with --report"),
        (("--report", "stats", "--tables", "frames"), "--tables is for tables, and a report writes none"),
        (("--report", "stats", "--key", "text"), "--key is for tables, and a report writes none"),
        ((), "give a report with --report, or a folder for tables with -o DIR"),
        (("--report", "overhead", "--by", "colour"), "--by colour: bytes are grouped by api, "),
        (("--report", "upgrade"), "needs --to RELEASE"),
    ):
        done = kwire("scan", SEGMENTS, *options)
        assert (done.code, done.out) == (2, "")
        assert why in done.err
    none = kwire("scan", "--report", "advise", "samples/segments/orders-zstd-0")
    assert (none.code, "this holds no message that is certain" in none.err) == (2, True)


INCIDENTS = ROOT / "samples" / "incidents"


def without_frames(document):
    """An answer without numbers of frames and streams: scan reads connections apart, and names packets.

    Files of captures have whole paths there, and a folder beside a capture makes no capture point.
    """
    if isinstance(document, dict):
        return {
            key: without_frames(value)
            for key, value in document.items()
            if key not in {"frame", "frames", "stream", "requestFrame", "capture", "file"}
        }
    return [without_frames(value) for value in document] if isinstance(document, list) else document


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("diagnose", [SEGMENTS, str(INCIDENTS / "advertised.pcap")]),
        ("groups", [str(INCIDENTS / "rebalancing.pcap")]),
        ("transactions", [str(INCIDENTS / "hanging-transaction")]),
        ("sequence", [str(INCIDENTS / "sasl.pcap")]),
        ("summary", [str(INCIDENTS / "out-of-order.pcap")]),
    ],
    ids=lambda value: "-".join(each.rpartition("/")[2] for each in value) if isinstance(value, list) else None,
)
def test_questions_have_the_answers_of_their_commands(command, paths):
    one, two = map(json.loads, both(command, paths))
    assert without_frames(one) == without_frames(two)
    assert one["tables"]


def test_a_summary_names_the_paths_that_hold_something():
    paths = [str(INCIDENTS / "sasl.pcap"), str(ROOT / "pyproj*.toml"), str(INCIDENTS / "out-of-order"), CAPTURE]
    done = kwire("scan", *paths, "--report", "summary", "--format", "json")
    assert done.code == 0, done.err
    inputs = json.loads(done.out)["tables"]["inputs"]
    assert [(row["name"], row["kind"], row["files"]) for row in inputs] == [
        (paths[0], "capture", 1),
        (paths[2], "folder", 1),
        (paths[3], "capture", 1),
    ]


def test_two_captures_differ_as_in_diff():
    paths = [CAPTURE, MIDSTREAM]
    one = kwire("scan", *paths, "--report", "diff", "--format", "json")
    two = kwire("diff", *paths, "--format", "json")
    assert (one.code, two.code) == (0, 0), one.err + two.err
    assert json.loads(one.out) == json.loads(two.out)
    assert kwire("scan", CAPTURE, "--report", "diff").code == 2


@pytest.mark.parametrize("paths", [[SEGMENTS], [LOGS, str(INCIDENTS / "hanging-transaction")]])
def test_states_are_those_of_dump(paths):
    one = kwire("scan", *paths, "--report", "state", "--format", "json")
    two = kwire("dump", "--state", *paths, "--format", "json")
    assert (one.code, two.code) == (0, 0), one.err + two.err
    assert without_frames(json.loads(one.out)) == without_frames(json.loads(two.out))


def test_statistics_over_time_are_those_of_stats():
    one = kwire("scan", CAPTURE, "--report", "stats", "--every", "1s", "--format", "json")
    two = kwire("stats", CAPTURE, "--every", "1s", "--format", "json")
    assert json.loads(one.out) == json.loads(two.out)
    assert one.code == 0
