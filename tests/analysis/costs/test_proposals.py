"""The prices of proposals: each is the size of the frame that decoding, editing and encoding gives."""

import json

import pytest
from kit.captures import SAMPLES, lines
from kit.commands import json_of, kwire as run, refusal_of
from kit.messages import SHARED

import kwire_cli as kwire
from kwire_cli import InputError
from kwire_cli.analysis.costs.carrying import with_value
from kwire_cli.analysis.costs.proposals import Assumption, Pricing
from kwire_cli.message.encode import encode_spec, header_spec
from kwire_cli.spec.model import fields_by_path

CATALOG = kwire.catalog()
ZONE = {"type": "string", "versions": "0+", "nullableVersions": "0+", "default": "null", "ignorable": True}
LEADER_RACK = "topics[].partitions[].leaderRack"
OVERLAYS = {
    "a field of a request": ({"FetchRequest": {"fields": {"clientZone": ZONE}}}, ("clientZone=eu-west-1a@0.3",)),
    "a field of each partition": (
        {"MetadataResponse": {"fields": {LEADER_RACK: {"type": "string", "versions": "0+"}}}},
        (f"{LEADER_RACK}=rack-1",),
    ),
    "a field of each header": (
        {"RequestHeader": {"fields": {"shard": {"type": "int32", "versions": "1+"}}}},
        ("header.shard=7",),
    ),
    "fields removed, renamed and retyped": (
        {
            "FetchRequest": {"fields": {"minBytes": None, "maxWaitMs": {"name": "WaitMs"}}},
            "MetadataResponse": {"fields": {"brokers[].port": {"type": "uint16"}}},
        },
        (),
    ),
}
OWN = ("client-librdkafka", "old39-sarama-0.11.0.0")
CAPTURES = [
    SAMPLES / "captures" / "ipv6.pcap",
    *(
        pytest.param(
            SHARED / "real" / "own" / "captures" / name / "capture.pcapng",
            marks=(pytest.mark.shared, pytest.mark.slow),
            id=name,
        )
        for name in OWN
    ),
]
FETCH = {"FetchRequest": {"fields": {"clientZone": ZONE}}}


@pytest.fixture
def overlay(tmp_path):
    """Return the path of a proposal with these messages."""

    def written(messages):
        file = tmp_path / "proposal.json"
        file.write_text(json.dumps({"messages": messages}))
        return str(file)

    return written


def expected(frame, pricing, form, assumptions, carried):
    """Return the bytes of a frame in a form, by encoding the edited values."""
    size = 4
    for decoded, own in ((frame.header, header_spec(CATALOG, frame.kind)), (frame.body, frame.body.spec)):
        value, found = decoded.value, pricing.change(own)
        forms = {form.name: form.spec for form in found.forms(decoded.version)}
        if len(forms) == 1 or not form:
            size += len(encode_spec(own, value, decoded.version))
            continue
        spec = forms[form if form in forms else "proposed"]
        value = {found.renamed.get(key, key): part for key, part in value.items()}
        known = {path for path, field in fields_by_path(spec) if decoded.version in field.versions}
        value = {key: part for key, part in value.items() if key in known or key == "unknownTaggedFields"}
        for path, field in found.added.items():
            name = f"header.{path}" if decoded is frame.header else path
            filled = next((one for one in assumptions if one.path == name and one.path in carried), None)
            is_plain = form == "plain" or decoded.version not in spec.flexible_versions
            if decoded.version in field.versions and (filled or is_plain):
                default = None if field.default == "null" else {"string": "", "int32": 0}[field.type]
                value = with_value(value, path.split("."), filled.value_of(field) if filled else default)
        size += len(encode_spec(spec, value, decoded.version))
    return size


def frames(capture):
    """Yield the frames of a capture that are decoded whole."""
    for line in lines(capture):
        frame = line.frame
        if frame and not frame.guess and frame.body and frame.body.exact:
            yield frame


@pytest.mark.parametrize("name", OVERLAYS)
@pytest.mark.parametrize("capture", CAPTURES)
def test_a_price_is_the_size_of_the_edited_and_encoded_message(name, capture, overlay):
    messages, texts = OVERLAYS[name]
    assumptions = [Assumption.parse(text) for text in texts]
    every = {one.path for one in assumptions}
    pricing, carriers, priced = Pricing(CATALOG, [overlay(messages)], assumptions), {}, 0
    for frame in frames(capture):
        sizes_by_form = pricing.price(frame)
        if sizes_by_form is None:
            continue
        priced += 1
        carried = set()
        for one in assumptions:
            number = carriers[frame.body.message] = carriers.get(frame.body.message, 0) + 1
            if int(number * one.share) > int((number - 1) * one.share):
                carried.add(one.path)
        assert sizes_by_form.pop("as is") == [expected(frame, pricing, None, (), ())] * 3 == [frame.size] * 3
        for form, sizes in sizes_by_form.items():
            assert sizes == [expected(frame, pricing, form, assumptions, paths) for paths in (carried, (), every)]
    assert not pricing.refused
    assert priced or capture.parent.name == OWN[-1]  # which has no flexible version


def test_the_tag_loses_from_a_share_on(overlay):
    capture = SAMPLES / "incidents" / "rebalancing.pcap"
    arguments = ("compare", capture, "--proposal", overlay(FETCH), "--assume")
    tables = json_of(*arguments, "clientZone=eu-west-1a")["tables"]
    [share] = tables["shares"]
    count = share["messages"]
    assert [share[name] for name in ("plainUnset", "plainSet", "taggedUnset", "taggedSet")] == [
        count, 11 * count, 0, 13 * count,
    ]  # fmt: skip
    assert share["losesFrom"] == pytest.approx(1 / 3, abs=0.001)
    assert [(row["form"], row["difference"]) for row in tables["forms"]] == [
        ("as is", 0), ("plain", 11 * count), ("tagged", 13 * count),
    ]  # fmt: skip
    assert sum(row["difference"] for row in tables["clients"] if row["form"] == "plain") == 11 * count
    [_, _, tagged] = json_of(*arguments, "clientZone=len:10@0.5")["tables"]["forms"]
    assert tagged["difference"] == 13 * (count // 2)


def test_several_messages_have_a_sum(overlay):
    messages = {"RequestHeader": {"fields": {"shard": {"type": "int32", "versions": "1+"}}}}
    capture = SAMPLES / "incidents" / "rebalancing.pcap"
    forms = json_of("compare", capture, "--proposal", overlay(messages))["tables"]["forms"]
    plain = [row for row in forms if row["form"] == "plain"]
    *each, whole = plain
    assert whole["message"] == "all messages"
    assert whole["difference"] == sum(row["difference"] for row in each) == 4 * whole["messages"]
    assert whole["perDay"] == pytest.approx(86400 * whole["perSecond"], rel=0.01)


def test_versions_that_are_not_flexible_have_no_tags(overlay):
    capture = SAMPLES / "captures" / "sarama-0.8.2.0-3.9.2.pcapng"
    proposal = overlay({"ProduceRequest": {"fields": {"clientZone": ZONE}}})
    answer = json_of("compare", capture, "--proposal", proposal, "--assume", "clientZone=a")
    as_is, plain, tagged = answer["tables"]["forms"]
    assert plain["difference"] == tagged["difference"] == 3 * as_is["messages"]
    assert "are not flexible" in str(answer["notes"])


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("a.b[].c=x", ("a.b[].c", "x", 1.0)),
        ("zone=a@b@0.25", ("zone", "a@b", 0.25)),
        ("zone=user@example.com", ("zone", "user@example.com", 1.0)),
        ("zone=len:7@1", ("zone", "len:7", 1.0)),
    ],
)
def test_assumptions(text, parsed):
    assert Assumption.parse(text) == parsed


@pytest.mark.parametrize("text", ["zone", "=x", "zone=", "zone=@0.3"])
def test_an_assumption_has_a_path_and_a_value(text):
    with pytest.raises(InputError, match="write PATH=VALUE"):
        Assumption.parse(text)


def test_values_of_assumptions():
    fields = dict(fields_by_path(CATALOG.message("FetchRequest")))
    values = {"rackId": "len:3", "maxWaitMs": "5", "topics[].topicId": "AAAAAAAAAAAAAAAAAAAAAQ"}
    found = [Assumption(path, text, 1).value_of(fields[path]) for path, text in values.items()]
    assert found == ["xxx", 5, "AAAAAAAAAAAAAAAAAAAAAQ"]
    with pytest.raises(InputError, match="not a value of type int32"):
        Assumption("maxWaitMs", "soon", 1).value_of(fields["maxWaitMs"])


def test_a_value_is_in_every_struct_of_its_path():
    value = {"topics": [{"partitions": [{"a": 1}, {}]}, {"partitions": None}], "other": 1}
    assert with_value(value, ["topics[]", "partitions[]", "b"], 2) == {
        "topics": [{"partitions": [{"a": 1, "b": 2}, {"b": 2}]}, {"partitions": None}],
        "other": 1,
    }
    assert with_value({}, ["topics[]", "b"], 2) == {}


def test_what_makes_no_sense_is_refused(overlay):
    capture, file = SAMPLES / "incidents" / "rebalancing.pcap", overlay(FETCH)
    proposal = ("compare", capture, "--proposal", file)
    assert "did you mean clientZone?" in refusal_of(*proposal, "--assume", "clientZon=x")
    assert "--assume is for proposals" in refusal_of("compare", capture, "--assume", "clientZone=x")
    assert "--format kip is for proposals" in refusal_of("compare", capture, "-f", "kip")
    assert "--advise is for advice, not for proposals" in refusal_of(*proposal, "--advise")
    unused = overlay({"VoteRequest": {"fields": {"a": {"type": "int8", "versions": "0+"}}}})
    assert "no message is changed by the proposal" in refusal_of("compare", capture, "--proposal", unused)


def test_the_command_in_the_text_for_a_kip_reads_the_capture_in_the_same_way(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "key log").write_text("")
    words = ("FetchRequest", "zone: string", SAMPLES / "incidents" / "rebalancing.pcap", "--tls-keylog", "key log")
    last = run("compare", *words, "--port", 29092, "-f", "kip").out.splitlines()[-1]
    assert last.startswith("Measured with `kwire compare FetchRequest 'zone: string' ")
    assert last.endswith(" --tls-keylog 'key log' --port 29092 -f kip`.")
