"""What a page is made of: one file, no markup but its own, nothing that loads or runs but its own script and style; and
how much it holds, without secrets.
"""

import base64
import hashlib
import re

import pytest
from kit.commands import kwire
from kit.views import Elements, bytes_of, column, data_of, elements_of, entries, rows_of

import kwire_cli
from kwire_cli.view.bounded_outline import BoundedOutline
from kwire_cli.view.page.entries import Page
from kwire_cli.view.page.shell import empty, library, page, script, style

HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=alert(1)><!--\u202e\x1b[31m"
NOTHING = BoundedOutline((), None)


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_a_page_has_no_element_but_its_own():
    usual = Elements("".join(page("t", empty("t"), ())))
    hostile = Elements("".join(page(HOSTILE, empty(HOSTILE) | {"arguments": HOSTILE}, [HOSTILE])))
    assert [tag for tag, _ in hostile.elements] == [*(tag for tag, _ in usual.elements), "script"]  # the chunk
    assert [*hostile.blocks] == ["data", "chunk0"]
    assert len(hostile.scripts) == 2


def test_the_policy_names_the_style_and_the_scripts_and_refuses_all_else():
    found = Elements("".join(page("t", empty("t"), ())))
    policy = next(
        attributes["content"]
        for tag, attributes in found.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest(library())}' 'sha256-{digest(script())}'" in policy
    assert f"style-src 'sha256-{digest(style())}'" in policy
    assert "unsafe" not in policy
    assert found.scripts == [library(), script()]


def test_nothing_in_a_page_points_elsewhere():
    text = "".join(page("t", empty("t"), ())).replace(library(), "")
    assert not re.search(r"(?:src|url)\s*[=(]", text)
    assert "http" not in text.replace("http-equiv", "")
    assert "innerHTML" not in text
    assert "eval(" not in text


def page_of(most, command="decode"):
    out = []
    return out, Page(out.append, "frames", "t", command=command, arguments="a.pcap", most=most)


def test_a_page_takes_so_many_and_says_when_it_is_full():
    out, made = page_of(2)
    for number in range(2):
        assert not made.is_full
        made.add({"request": number, "api": "Fetch"}, NOTHING)
    assert made.is_full
    made.leave("--frames 3-")
    made.end()
    assert "(the first 2 frames)" in Elements("".join(out)).title
    assert "kwire decode a.pcap --frames 3- -o rest.html" in "".join(out)


def test_what_breaks_off_leaves_a_page_of_what_there_is_and_an_error_none():
    def write(made, entries_before):
        with made:
            for number in range(entries_before):
                made.add({"request": number, "api": "Fetch"}, NOTHING)
            raise KeyboardInterrupt

    def broken(entries_before):
        out, made = page_of(9)
        with pytest.raises(KeyboardInterrupt):
            write(made, entries_before)
        return "".join(out)

    assert '"count":2' in broken(2)
    assert broken(0) == ""
    done = kwire("decode", "--format", "html", "-", stdin=b"no hex at all")
    assert (done.code, done.out) == (2, "")


def test_several_files_are_told_apart():
    files = ["samples/captures/midstream.pcap", "samples/frames/metadata-v0-request.hex"]
    found = data_of("decode", *files, "--format", "html")
    assert {*column(found, "file")} == {*files}
    found = data_of("decode", *files, "--format", "html", "--top", "3")
    assert len(found["entries"]) == 3
    assert found["left"]["command"] == f"kwire decode {files[0]} --frames 4- -o rest.html"


def test_nothing_that_was_asked_for_is_a_page_of_nothing():
    assert entries("dump", "samples/segments/orders-zstd-0", "--offsets", "900-") == []


@pytest.mark.parametrize(
    ("command", "file", "most"),
    [
        ("decode", "samples/captures/midstream.pcap", "90"),
        ("dump", "samples/segments/__consumer_offsets-0/00000000000000000000.log", "5"),
    ],
)
def test_pages_follow_each_other(command, file, most):
    everything = data_of(command, file, "--format", "html")
    assert everything["left"] is None
    found, words = [], [command, file]
    for _ in range(20):
        data = data_of(*words, "--top", most, "--format", "html")
        found += data["entries"]
        if data["left"] is None:
            break
        words = re.sub(r"^kwire | -o \S+$", "", data["left"]["command"]).split()
    assert found == everything["entries"]


def test_the_title_names_the_input():
    for command in ("stats", "diagnose", "decode"):
        title = elements_of(command, "samples/incidents/rebalancing.pcap", "--format", "html").title
        assert title.startswith("rebalancing.pcap")


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
    for entry in found:
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
    hidden, shown = entries(*arguments), entries(*arguments, "--show-secrets")
    rows = list(secret_rows(hidden))
    assert rows
    for raw, (start, end), masked in rows:
        assert not any(raw)
        assert start == end or any(low <= start and end <= high for low, high in masked)
    assert not list(secret_rows(shown))
    secrets = [
        bytes_of(b)[low:high]
        for e, f in zip(shown, hidden, strict=True)
        for b, m in buffers(e, f)
        for low, high in m["masked"]
    ]
    assert secrets
    everything = b"".join(bytes_of(buffer) for entry in hidden for buffer in entry["buffers"])
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
        (entry,) = entries(*arguments, *more, stdin=body.hex().encode())
        (buffer,) = entry["buffers"]
        assert ("leftOut" in entry) == (more != ["--full"])
        assert (buffer["size"] == len(bytes_of(buffer))) == (more == ["--full"])
        assert (b"horse" in bytes_of(buffer)) == (more == ["--show-secrets"])


def test_of_a_record_with_a_secret_all_else_is_told():
    rows = [row for entry in entries("dump", "samples/segments/__cluster_metadata-0") for row in rows_of(entry)]
    (salt,) = {row["text"] for row in rows if row["path"].endswith(".value.salt")}
    assert salt.startswith("<redacted")
    assert any(row["path"].endswith(".value.iterations") and row["text"].startswith(("4096", "8192")) for row in rows)
