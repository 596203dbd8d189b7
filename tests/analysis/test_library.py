"""`kwire_cli.ask`: the answers of commands, in Python."""

import json

import pytest
from kit.commands import ROOT, kwire as run

import kwire_cli as kwire
from kwire_cli.analysis.library import QUESTIONS
from kwire_cli.view.answers import answer_document

pytestmark = pytest.mark.usefixtures("few_rules")

CAPTURE = ROOT / "samples/incidents/rebalancing.pcap"


@pytest.mark.parametrize("question", [name for name in QUESTIONS if name != "summary"])
def test_an_answer_is_that_of_the_command(question):
    printed = json.loads(run(question, CAPTURE, "--format", "json").out)
    assert json.loads(json.dumps(answer_document(kwire.ask(question, CAPTURE)))) == printed
    assert printed["tables"]


def test_a_summary_of_a_request_log_names_its_lines():
    log = next(iter(sorted((ROOT / "samples/request-logs").glob("*.log"))))
    printed = json.loads(run("summary", log, "--format", "json").out)["tables"]
    tables = json.loads(json.dumps(answer_document(kwire.ask("summary", log))))["tables"]
    assert tables["inputs"] == printed["inputs"]
    assert tables["slowest"] == printed["slowest"]
    assert all(row["frame"] is None and row["line"] for row in tables["slowest"])


def test_captures_and_request_logs_are_not_counted_together():
    log = next(iter(sorted((ROOT / "samples/request-logs").glob("*.log"))))
    with pytest.raises(kwire.InputError, match="may show the same requests"):
        kwire.ask("stats", CAPTURE, log)


@pytest.mark.parametrize(
    ("question", "path", "text"),
    [
        ("diagnos", CAPTURE, "did you mean diagnose"),
        ("why", CAPTURE, "'why' is no question; questions are clients, diagnose, "),
        ("stats", ROOT / "samples/segments", "this is a folder"),
        ("groups", ROOT / "samples/frames/produce-v13-request.hex", "this is"),
        ("groups", ROOT / "nothing-here", "there is no such file"),
    ],
)
def test_what_cannot_be_asked_is_said(question, path, text):
    with pytest.raises(kwire.InputError, match=text):
        kwire.ask(question, path)


def test_a_dimension_that_is_none_is_said():
    with pytest.raises(kwire.InputError, match="'colour' is no dimension; dimensions are api, message, "):
        kwire.overhead(CAPTURE, by=["colour"])


ZONE = str(ROOT / "samples/definitions/proposed/client-zone.json")


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (("--form", "flexible", "--by-field"), {"forms": ["flexible"], "by_field": True}),
        (("--form", "packed", "--paths", "maxBytes"), {"forms": ["packed"], "fields": ["maxBytes"]}),
        (("--form", "metadata-upacked", "--versions", "9"), {"forms": ["metadata-upacked"], "versions": [9]}),
        (("--proposal", ZONE, "--assume", "clientZone=a"), {"proposals": [ZONE], "assume": ["clientZone=a"]}),
        ((), {}),
    ],
)
def test_compare_is_that_of_the_command(words, arguments):
    only = "frame < 60"
    printed = json.loads(run("compare", CAPTURE, "--filter", only, *words, "--format", "json").out)
    found = answer_document(kwire.compare(CAPTURE, filter=only, **arguments))
    assert json.loads(json.dumps(found)) == printed


SEGMENT = ROOT / "samples/segments/orders-zstd-0"


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ((), {}),
        (("--form", "v1", "--form", "v2", "--batch", "3,all"), {"forms": ["v1", "v2"], "batches": [3, "all"]}),
        (("--codec", "lz4,zstd:3"), {"codecs": ["lz4", "zstd:3"]}),
    ],
)
def test_records_are_compared(words, arguments):
    printed = json.loads(run("compare", SEGMENT, *words, "--format", "json").out)
    assert json.loads(json.dumps(answer_document(kwire.compare(SEGMENT, **arguments)))) == printed


def test_values_are_compared():
    values = {"groupId": "orders", "generationId": 7, "memberId": "c", "groupInstanceId": None}
    rows = kwire.compare(message="HeartbeatRequest", version=4, values=values, forms=["packed"])["forms"].to_dicts()
    assert [(row["form"], row["size"]) for row in rows] == [("as given", 15), ("packed", 12)]


@pytest.mark.parametrize(
    ("captures", "arguments", "text"),
    [
        ((), {}, "give captures or logs, or a message and its values"),
        ((CAPTURE,), {"forms": ["pakced"]}, "or an overlay, not 'pakced'; did you mean packed"),
        ((SEGMENT,), {"forms": ["packed"]}, "the form packed is for messages, and these are records"),
        ((SEGMENT,), {"codecs": ["zip"]}, "--codec takes none, gzip"),
        ((CAPTURE,), {"forms": ["packed"], "fields": ["maxBites"]}, "did you mean maxBytes"),
        ((CAPTURE,), {"proposals": [ZONE], "assume": ["zone=a"]}, "no new field has this path"),
        ((CAPTURE,), {"proposals": [ZONE], "filter": "api == Heartbeat"}, "no message is changed"),
        ((CAPTURE,), {"filter": "frame > 9000"}, "there is no message to price"),
        ((CAPTURE,), {"codecs": ["zstd"]}, "codecs and a register are for records, and these are messages"),
        ((CAPTURE,), {"proposals": [ZONE], "forms": ["packed"]}, "priced in place of forms"),
        ((SEGMENT,), {"proposals": [ZONE]}, "priced in captures, and these are logs"),
        ((CAPTURE, SEGMENT), {}, "captures, or logs, but not both"),
        ((), {"message": "HeartbeatRequest", "version": 99, "values": {}}, "99"),
    ],
)
def test_what_cannot_be_compared_is_said(captures, arguments, text):
    with pytest.raises(kwire.InputError, match=text):
        kwire.compare(*captures, **arguments)
