"""Commands about a message without versions, such as LeaderAndIsrRequest in Kafka 4."""

import json

import pytest
from kit.commands import ROOT, refusal_of

NAME = "LeaderAndIsrRequest"


@pytest.mark.parametrize(
    "words",
    [
        ("spec", "show", NAME, "--format", "bnf"),
        ("spec", "show", NAME, "0"),
        ("diff", NAME, "0", "1"),
        ("encode", "-m", NAME, "--message-version", "0", "{}"),
        ("decode", "-m", NAME, "--message-version", "0", "00"),
        ("compare", "-m", NAME),
    ],
)
def test_a_reserved_message_has_no_version(words, tmp_path):
    document = json.loads((ROOT / "specs" / f"{NAME}.json").read_text()) | {"validVersions": "none"}
    (tmp_path / f"{NAME}.json").write_text(json.dumps(document))
    assert refusal_of(*words, "--specs", tmp_path).endswith(f"{NAME} is reserved: no version of it is valid\n")
