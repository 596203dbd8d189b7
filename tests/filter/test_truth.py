"""What filters say of one row, by part of the language."""

import pytest
from filter.rows import FETCH, UNKNOWN, Row, compiled

HOLD = """
frame == 12 | frame != 13 | frame < 13 | frame <= 12 | frame > 11 | frame >= 12 | frame in (1, 12) | frame not in (1, 2) | frame == 0xC | frame > -1
frame == 12.0 | frame < 12.5 | version == 13 | apiVersion >= 12 | correlationId == 9 | requestFrame == 11 | stream == 0 | packet in (77)
size == 1500B | size > 1KB | size >= 1.5kb | size < 1.5KiB | size < 1MiB | size < 1gb | size == 1500
latency > 100ms | latency == 250ms | latency == 0.25 | latency < 1s | latency == 250000us | latency == 250000µs | latency < 1min | latency < 1h
latency in (1s, 250ms) | latency_us == 250000 | latency_us > 100ms | latency_us == 0.25s | wait_ms == 500 | wait_ms == 0.5s | throttle == 1.5
throttle_ms == 1500 | throttle > 1s | api_version == 13 | client_id == billing-1 | correlation_id == 9 | request_frame == 11 | api_key == Fetch
delayed | delayed == true | delayed != false | guess == false | not guess | has guess | source == capture | error_codes == 6 | error_codes in (999)
errors == 6 | errors == 999 | errors != NOT_LEADER_OR_FOLLOWER | error_codes == NOT_LEADER_OR_FOLLOWER | request_groups == billing
kind == response | kind == RESPONSE | kind == "Response" | kind != request | kind ~ ^RESP | kind in (gap, response) | kind not in (gap, request)
kind !~ gap
api == Fetch | api == fetch | api == 1 | api == "FETCH" | apiKey == Fetch | api != Produce | api in (Produce, Fetch) | api not in (0, Metadata)
api ~ ^fe | api !~ x | api >= 1
api in (Fetch, null) | api != null | api not in (Produce, null) | apiKey < 2
topic == orders.v2 | topics == "Audit" | topic != Audit | topic ~ 'orders\\.v\\d$' | topic !~ orders | topic ~ "(?i)^AUDIT" | topic ~ "\\x41"
group == billing | groups == audit | group != billing | group ~ ^bill | has group | group in (x, audit)
topic > b | topic in (x, Audit) | topic not in (Audit)
client == billing-1 | clientId ~ "g-\\d+$" | clientId < c | clientId != 1
src == [fd00::1]:9092 | src == fd00::1 | src == [fd00::1] | dst == 10.0.0.5 | dst == 10.0.0.5:50012 | dst != 10.0.0.6 | src in (10.0.0.5, fd00::1)
src ~ ":9092$"
host == 10.0.0.5 | host == fd00::1 | port == 9092 | port == 50012 | port != 9092 | port > 50000 | port < 9999 | port in (1, 9092)
error == NOT_LEADER_OR_FOLLOWER | error == not_leader_for_partition | error == 6 | error == 999 | error != 6 | error in (7, 6) | error ~ leader
error !~ x
anomaly == tag_order | anomaly ~ ORDER | protocol == null | protocol != tls | protocol in (tls, null) | protocol !~ tls
time == 2026-11-21T10:00:00.123456789Z | time > 2026-11-21T10:00 | time > "2026-11-21 10:00:00" | time > 2026-11-21T12:00:00+02:00
time < 2026-11-21T05:00:00.2-0500
time > 2026-11-21 | time >= 10:00:00 | time < 10:00:00.2 | time < 10:01 | time != 10:00 | time in (10:00, 10:00:00.123456789) | time != null
has frame | has topic | has error | frame | size | topics | error | kind | latency | not protocol | not has protocol | anomaly
errorCode == 0 | errorCode != 0 | errorCode == NOT_LEADER_OR_FOLLOWER | errorCode in (7, not_leader_or_follower) | partitions.errorCode == 6
body.errorCode == NONE
not body.errorCode != 0 | not body.errorCode | has body.errorCode | responses.partitions.errorCode > 5 | body.responses.partitions.errorCode
errorCode
apiKeys.apiKey == Metadata | .apiKey in (3) | .apiKey != Metadata | replicas == 2 | replicas == null | replicas != null | replicas > 1
has replicas | replicas in (7, 1)
.host == inner | .topic == Audit | header.headerVersion == 1 | header.correlationId == 9 | has header | body | has config | config | config != 5
throttleTimeMs > 1s | throttleTimeMs == 1.5s | throttleTimeMs == 1500 | throttleTimeMs in (1, 1500ms) | timestamp == 2026-11-21T10:00:00Z
timestamp > 2026-11-20 | timestamp < 2026-11-21T10:00:00.5
complete | complete == true | complete == TRUE | complete != false | complete != 1 | config.value == true | config.value == "true"
config.note == 'say "hi"' | config.note == "say \\"hi\\""
nothing == null | not nothing | not has nothing | nothing != 1 | nothing !~ x | text == 1000 | text == "1000" | text > "0" | text != 1e3
nan == NaN | rate == 0.5 | rate < 1 | rate
not empty | not has empty | not empty == null | not empty != 1 | not missing | not has missing | not missing == null | not missing != 1
not missing.errorCode == 0
NOT frame == 1 AND Frame IN (1) or not Has x | !frame==1&&size>1||x | not not frame == 12 | !(frame == 1) | ! ! frame
(frame == 12 or x) and y != 1 or frame
frame == 1 or frame == 12 and size == 1500 | (((frame == 12))) | has frame and has size and has kind | x or y or frame | not x == 1 and not y == 2
config.note ~ '"hi"$' | config.note ~ "\\"hi\\"" | config.note == "say \\x22hi\\u0022"
"""  # noqa: E501

FAIL = """
latency_us == 0.25 | latency == 250000 | wait_ms == 0.5 | delayed == false | not delayed | guess | guess == true | errors == 7 | error_codes == 7 | line
frame == 11 | frame != 12 | frame < 12 | frame > 12 | frame not in (12) | frame == null | size > 1.5KB | size > 1MB | latency > 250ms
latency < 100ms | latency == null
kind == request | kind !~ response | api == Produce | api != fetch | api in (0, 2) | api in (Produce, null) | api not in (Fetch, null) | api == null
apiKey == null
topic == AUDIT | topic == orders | topic ~ audit | topic > z | client == Billing-1 | client == null | src == 10.0.0.5 | dst == fd00::1
src == [fd00::1]:9093 | src == fd00
host == fd00 | port == 1 | not port == 9092 | error == NONE | error == 7 | anomaly == gap | protocol == tls | protocol ~ tls | protocol != null
protocol
time == 10:00 | time > 10:00:01 | time < 2026-11-21T10:00:00+00:00 | time == null | time < 2026-11-21T10:00+02:00
errorCode == 7 | errorCode == null | partitions.errorCode == 7 | body.errorCode != 0 | body.partitions.errorCode == 6 | body.errorCode | stream
not errorCode == 0
apiKeys.apiKey == Fetch | .apiKey == null | replicas == 3 | .host == fd00::1 | headerVersion == true | header.errorCode | correlation.id
complete == 1 | complete > 0 | complete == 0
config == 5 | config ~ x | config.value == True | text > 5 | text == 1000.0 | rate ~ 0 | throttleTimeMs > 2s | timestamp > 2026-11-21T10:00:01Z
nothing < 1 | nothing > a | nothing ~ "."
nothing | has nothing | empty | has empty | missing | missing != 1 | missing !~ x | not frame | x and y | frame and x | x or y or z
not (frame or x) | frame == 12 and not size == 1500
nothing == "null" | timestamp == "2026-11-21T10:00:00Z" | throttleTimeMs == "1500" | headerVersion == 1ms
"""  # noqa: E501


HOLD_UNKNOWN = """
latency != 5ms | latency == null | time == null | time in (null, 10:00) | src in (10.0.0.5, null)
clientId == null | clientId != billing-1
api == null | api in (Fetch, null) | api == 99 | kind == request and not has api
"""

FAIL_UNKNOWN = """
latency > 0 | latency < 9h | time > 10:00 | src == 10.0.0.5 | clientId ~ . | topic != x | topic !~ x
topics | has group | has error | anomaly | api not in (Fetch, null)
"""


def each(table):
    return [case.strip() for line in table.strip().splitlines() for case in line.split(" | ")]


CASES = [
    *((text, FETCH, True) for text in each(HOLD)),
    *((text, FETCH, False) for text in each(FAIL)),
    *((text, UNKNOWN, True) for text in each(HOLD_UNKNOWN)),
    *((text, UNKNOWN, False) for text in each(FAIL_UNKNOWN)),
]


@pytest.mark.parametrize(("text", "row", "holds"), CASES, ids=[text for text, *_ in CASES])
def test_what_a_filter_says_of_a_row(text, row, holds):
    assert compiled(text).matches(row) is holds


# The documentation's table: codes of a frame by column, and where the filter holds.
@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("errorCode == 0", [True, True, False]),
        ("errorCode != 0", [True, False, False]),
        ("not errorCode == 0", [False, False, True]),
        ("not errorCode != 0", [False, True, True]),
        ("has errorCode", [True, True, False]),
        ("errorCode", [True, False, False]),
    ],
)
def test_several_values(text, holds):
    rows = [Row({}, body={"topics": [{"errorCode": code} for code in codes]}) for codes in ([0, 6], [0, 0], [])]
    assert [compiled(text).matches(row) for row in rows] == holds


def test_deep_values_do_not_exhaust_the_stack():
    deep = inner = {}
    for _ in range(20_000):
        inner["a"] = [[{}]]
        inner = inner["a"][0][0]
    inner["x"] = 1
    assert compiled("x == 1 and a.x == 1 and not a.a.y").matches(Row({}, body=deep))
