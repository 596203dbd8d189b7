"""What a page is made of: one file, nothing that the bytes say is markup, nothing in it runs or loads but its own
script and style.
"""

import base64
import hashlib
import re

import pytest
from kit.commands import kwire
from kit.views import bytes_of, entries, page, parsed, rows_of

import kwire_cli
from kwire_cli.view.html.page import Page, data, head, report, script, style, tail

HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=alert(1)><!--\u202e\x1b[31m"


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_a_page_has_no_element_but_its_own():
    found = parsed(head("t") + data("page", {"text": HOSTILE}) + tail())
    before = ["html", "head", *["meta"] * 5, "title", "style"]
    assert [tag for tag, _ in found.elements] == [*before, "body", "noscript", "script", "script"]
    assert found.data["page"]["text"] == HOSTILE


def test_the_policy_names_the_style_and_the_script_and_refuses_all_else():
    found = parsed(report("t", []))
    policy = next(
        attributes["content"]
        for tag, attributes in found.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
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
    found = page("decode", *files, "--top", "3").data["page"]
    assert (len(found["rows"]), found["more"]) == (3, f"{files[0]} --frames 4-")


def test_nothing_that_was_asked_for_is_a_page_of_nothing():
    assert page("dump", "samples/segments/orders-zstd-0", "--offsets", "900-").data["page"]["rows"] == []


def test_pages_of_a_capture_follow_each_other():
    file = "samples/captures/midstream.pcap"
    everything = page("decode", file).data["page"]
    assert everything["more"] is None
    rows, at = [], "1-"
    while at:
        found = page("decode", file, "--top", "90", "--frames", at).data["page"]
        rows += found["rows"]
        at = found["more"] and found["more"].removeprefix("--frames ")
    assert rows == everything["rows"]


def test_pages_of_a_segment_follow_each_other():
    file = "samples/segments/__consumer_offsets-0/00000000000000000000.log"
    everything = page("dump", file).data["page"]["rows"]
    first = page("dump", file, "--top", "5").data["page"]
    second = page("dump", file, *first["more"].split()).data["page"]
    assert first["rows"] + second["rows"] == everything


def test_a_page_is_not_for_a_terminal_and_not_for_what_it_has_no_place_for():
    file = "samples/captures/midstream.pcap"
    for arguments, terminal, said in (
        (("decode", file), True, "write it to a file"),
        (("stats", file), True, "write it to a file"),
        (("decode", file, "--fields", "api"), False, "--fields shows"),
        (("decode", file, "--top", "0"), False, "--top 0"),
        (("decode", "samples/request-logs/kafka-request.log"), False, "request log"),
    ):
        done = kwire(*arguments, "--format", "html", terminal=terminal)
        assert (done.code, done.out) == (2, "")
        assert said in done.err


def secret_rows(found):
    """The bytes of each value that a page says is redacted."""
    for entry in entries(found):
        for row in rows_of(entry):
            if row["text"].startswith("<redacted"):
                buffer = entry["buffers"][row["buffer"]]
                _, value, end = (at - buffer["at"] for at in row["place"])
                yield bytes_of(buffer)[value:end], [value, end], buffer["masked"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("decode", "samples/frames/alter-scram-v0-request.hex"),
        ("decode", "samples/frames/sasl-authenticate-request.hex"),
        ("dump", "samples/segments/__cluster_metadata-0"),
    ],
    ids=lambda arguments: arguments[1].rpartition("/")[2],
)
def test_the_bytes_of_what_is_redacted_are_not_in_the_page(arguments):
    hidden, shown = page(*arguments), page(*arguments, "--show-secrets")
    rows = list(secret_rows(hidden))
    assert rows
    for raw, (start, end), masked in rows:
        assert not any(raw)
        assert start == end or any(low <= start and end <= high for low, high in masked)
    assert not list(secret_rows(shown))
    secrets = [
        bytes_of(b)[low:high]
        for e, f in zip(entries(shown), entries(hidden), strict=True)
        for b, m in buffers(e, f)
        for low, high in m["masked"]
    ]
    assert secrets
    everything = b"".join(bytes_of(buffer) for entry in entries(hidden) for buffer in entry["buffers"])
    assert not [secret for secret in secrets if len(secret) > 8 and any(secret) and secret in everything]


def buffers(shown, hidden):
    return zip(shown["buffers"], hidden["buffers"], strict=True)


@pytest.mark.slow
def test_secrets_behind_the_fields_that_a_page_has_room_for_are_not_in_it():
    secret = base64.b64encode(b"correct horse battery").decode()
    one = {"name": "u", "mechanism": 1, "iterations": 4096, "salt": secret, "saltedPassword": secret}
    body = kwire_cli.encode(
        {"deletions": [], "upsertions": [one] * 4000}, message="AlterUserScramCredentialsRequest", version=0
    )
    arguments = ("decode", "--message", "AlterUserScramCredentialsRequest", "--message-version", "0", "-")
    for more in ([], ["--full"], ["--show-secrets"]):
        (entry,) = entries(page(*arguments, *more, stdin=body.hex().encode()))
        (buffer,) = entry["buffers"]
        assert ("leftOut" in entry) == (more != ["--full"])
        assert (buffer["size"] == len(bytes_of(buffer))) == (more == ["--full"])
        assert (b"horse" in bytes_of(buffer)) == (more == ["--show-secrets"])


def test_of_a_record_with_a_secret_all_else_is_told():
    rows = [row for entry in entries(page("dump", "samples/segments/__cluster_metadata-0")) for row in rows_of(entry)]
    (salt,) = {row["text"] for row in rows if row["path"].endswith(".value.salt")}
    assert salt.startswith("<redacted")
    assert any(row["path"].endswith(".value.iterations") and row["text"].startswith(("4096", "8192")) for row in rows)
