"""What a page is made of: one file, no markup but its own, nothing that loads or runs but its own script and style; no
secrets.
"""

import base64
import hashlib
import re

import pytest
from kit.commands import ROOT, kwire
from kit.views import Elements, bytes_of, elements_of, entries, rows_of

from kwire_cli.view.page.shell import empty, library, page, script, style

pytestmark = pytest.mark.usefixtures("few_rules")

HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=alert(1)><!--\u202e\x1b[31m"


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


def test_the_title_names_the_input():
    for command in ("stats", "diagnose"):
        title = elements_of(command, "samples/incidents/rebalancing.pcap", "--format", "html").title
        assert title.startswith("rebalancing.pcap")


def test_a_page_is_not_for_a_terminal():
    done = kwire("stats", "samples/captures/midstream.pcap", "--format", "html", terminal=True)
    assert (done.code, done.out) == (2, "")
    assert "write it to a file" in done.err


METADATA = ROOT / "samples" / "segments" / "__cluster_metadata-0" / "00000000000000000000-0000000000.checkpoint"


def secret_rows(found):
    """The bytes of each value that a page says is redacted."""
    for entry in found:
        for row in rows_of(entry):
            if row["text"].startswith("<redacted"):
                buffer = entry["buffers"][row["buffer"]]
                _, value, end = (at - buffer["at"] for at in row["place"])
                yield bytes_of(buffer)[value:end], [value, end], buffer["masked"]


@pytest.mark.parametrize(
    "file",
    [
        "frames/alter-scram-v0-request.hex",
        "frames/sasl-authenticate-request.hex",
        "segments/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
    ],
)
def test_the_bytes_of_what_is_redacted_are_not_in_the_page(file):
    path = ROOT / "samples" / file
    hidden, shown = entries(path), entries(path, show_secrets=True)
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


def test_of_a_record_with_a_secret_all_else_is_told():
    rows = [row for entry in entries(METADATA) for row in rows_of(entry)]
    (salt,) = {row["text"] for row in rows if row["path"].endswith(".value.salt")}
    assert salt.startswith("<redacted")
    assert any(row["path"].endswith(".value.iterations") and row["text"].startswith(("4096", "8192")) for row in rows)
