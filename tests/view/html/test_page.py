"""What a page is made of: one file, nothing that the bytes say is markup, nothing in it runs or loads but its own script and style."""

import base64
import hashlib
import re

import pytest
from command_line import kwire
from pages import entries, page, parsed, rows_of

import kwire_cli
from kwire_cli.view.html.page import Page, data, head, report, script, style, tail

HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=alert(1)><!--\u202e\x1b[31m"


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_a_page_has_no_element_but_its_own():
    found = parsed(head("t") + data("page", {"text": HOSTILE}) + tail())
    assert [tag for tag, _ in found.elements] == [
        "html",
        "head",
        "meta",
        "meta",
        "meta",
        "meta",
        "meta",
        "title",
        "style",
        "body",
        "noscript",
        "script",
        "script",
    ]
    assert found.data["page"]["text"] == HOSTILE


def test_the_policy_names_the_style_and_the_script_and_refuses_all_else():
    found = parsed(report("t", []))
    policy = next(attributes["content"] for tag, attributes in found.elements if attributes.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest(script())}'" in policy
    assert f"style-src 'sha256-{digest(style())}'" in policy
    assert "unsafe" not in policy


def test_nothing_in_a_page_points_elsewhere():
    text = report("t", [])
    assert not re.search(r"(?:src|href|url)\s*[=(]", text)
    assert set(re.findall(r"https?://[^\s\"']+", text)) == {"http://www.w3.org/2000/svg"}  # the name of a namespace
    assert "innerHTML" not in text
    assert "eval" not in text


def test_a_title_is_text():
    assert "<b>" not in head("<b>&\x1b\u202e</b>").split("<style>")[0].split("<title>")[1]


def test_what_somebody_named_is_data_in_the_page():
    body = kwire_cli.encode({"topics": [{"name": HOSTILE}], "allowAutoTopicCreation": True}, message="MetadataRequest", version=4)
    text = kwire("decode", "--message", "MetadataRequest", "--version", "4", "--format", "html", "-", stdin=body.hex().encode()).out
    found = parsed(text)
    assert [tag for tag, _ in found.elements].count("script") == 3
    assert "img" not in [tag for tag, _ in found.elements]
    (entry,) = entries(found)
    shown = next(row["text"] for row in rows_of(entry) if row["path"] == "topics[0].name")
    assert shown.startswith('"</script><script>')
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_page_takes_so_many_and_says_when_it_is_full():
    out = []
    made = Page(out.append, "frames", "t", most=2)
    entry = {"nodes": [], "buffers": [], "anomalies": []}
    for _ in range(2):
        assert not made.is_full
        made.add({"size": 1}, entry)
    assert made.is_full
    made.leave("--frames 3-")
    made.end()
    found = parsed("".join(out))
    assert len(entries(found)) == 2
    assert found.data["page"]["more"] == "--frames 3-"


def test_what_breaks_off_leaves_a_page_of_what_there_is_and_an_error_none():
    def write(made, entries_before):
        with made:
            for _ in range(entries_before):
                made.add({"size": 1}, {"nodes": [], "buffers": [], "anomalies": []})
            raise KeyboardInterrupt

    def broken(entries_before):
        out = []
        with pytest.raises(KeyboardInterrupt):
            write(Page(out.append, "frames", "t", most=9), entries_before)
        return "".join(out)

    assert len(parsed(broken(2)).data["page"]["rows"]) == 2
    assert broken(0) == ""
    done = kwire("decode", "--format", "html", "-", stdin=b"no hex at all")
    assert (done.code, done.out) == (2, "")


def test_several_files_are_told_apart():
    files = ["samples/captures/midstream.pcap", "samples/frames/metadata-v0-request.hex"]
    found = page("decode", *files).data["page"]
    assert {row["file"] for row in found["rows"]} == {*files}
    found = page("decode", *files, "--limit", "3").data["page"]
    assert (len(found["rows"]), found["more"]) == (3, f"{files[0]} --frames 4-")


def test_nothing_that_was_asked_for_is_a_page_of_nothing():
    assert page("dump", "samples/segments/orders-zstd-0", "--offsets", "900-").data["page"]["rows"] == []


def test_pages_of_a_capture_follow_each_other():
    file = "samples/captures/midstream.pcap"
    everything = page("decode", file).data["page"]
    assert everything["more"] is None
    rows, at = [], "1-"
    while at:
        found = page("decode", file, "--limit", "90", "--frames", at).data["page"]
        rows += found["rows"]
        at = found["more"] and found["more"].removeprefix("--frames ")
    assert rows == everything["rows"]


def test_pages_of_a_segment_follow_each_other():
    file = "samples/segments/__consumer_offsets-0/00000000000000000000.log"
    everything = page("dump", file).data["page"]["rows"]
    first = page("dump", file, "--limit", "5").data["page"]
    second = page("dump", file, *first["more"].split()).data["page"]
    assert first["rows"] + second["rows"] == everything


def test_a_page_is_not_for_a_terminal_and_not_for_what_it_has_no_place_for():
    file = "samples/captures/midstream.pcap"
    for arguments, terminal, said in (
        (("decode", file), True, "send it to a file"),
        (("decode", file, "--stats"), False, "--stats is not for --format html"),
        (("decode", file, "--limit", "0"), False, "--limit 0"),
        (("decode", "samples/request-logs/kafka-request.log"), False, "request log"),
        (("dump", "samples/segments/garbage-0", "--verify"), False, "no page of faults"),
    ):
        done = kwire(*arguments, "--format", "html", terminal=terminal)
        assert (done.code, done.out) == (2, "")
        assert said in done.err
