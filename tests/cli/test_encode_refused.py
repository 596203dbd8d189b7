"""`kwire encode` stops at the first document that it cannot encode."""

import json

import pytest
from kit.commands import kwire

GOOD = '{"message":"HeartbeatRequest","version":0,"body":{"groupId":"g","generationId":1,"memberId":"m"}}'
BYTES = "0001670000000100016d"
REFUSED = {
    "a field of another type": GOOD.replace('"g"', "5"),
    "an unknown message": GOOD.replace("Heartbeat", "Heartbeet"),
    "an unknown version": GOOD.replace('"version":0', '"version":99'),
    "no document": "[1]",
    "a key twice": '{"a":1,"a":2}',
    "a cut document": GOOD[:20],
    "too many digits": '{"a":' + "9" * 5000 + "}",
    "nested too deeply": "[" * 100_000,
    "pretty printed, and cut": json.dumps(json.loads(GOOD), indent=2)[:60],
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_encode_stops_at_a_refused_document(refused, tmp_path):
    file = tmp_path / "documents.jsonl"
    file.write_text(f"{GOOD}\n{refused}\n{GOOD}\n")
    done = kwire("encode", file)
    assert (done.code, done.out.split()) == (2, [BYTES])
    assert str(file) in done.err
