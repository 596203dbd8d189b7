"""What is misspelt, of the wrong kind or not there is said as such, and what is close to it."""

import pytest
from kit.commands import ROOT, kwire, refusal_of
from kit.logs import batch, record

CAPTURE = "samples/captures/ipv6.pcap"
SEGMENT = "samples/segments/orders-zstd-0"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("deocde",), "kwire: there is no command 'deocde'; did you mean decode?\n"),
        (("di",), "kwire: there is no command 'di'; did you mean diagnose or diff?\n"),
        (("d",), "kwire: there is no command 'd'; did you mean decode or diagnose or diff or doctor or dump?\n"),
        (("qqq",), "kwire: there is no command and no file 'qqq'\n"),
        (("spec", "show", "Fech"), "kwire: no message is called 'Fech'; did you mean FetchRequest or FetchResponse?\n"),
        (
            ("spec", "show", "LICENSE"),
            "'LICENSE' is a file: --specs reads its definitions, MESSAGE is the name of one\n",
        ),
        (("spec", "errors", "NOT_A_LEADER_OR_FOLOWER"), "did you mean NOT_LEADER_OR_FOLLOWER?\n"),
        (("help", "statz"), "kwire: there is no command 'statz'; did you mean stats or sanitize?\n"),
        (("--verson",), "kwire: no such option --verson; did you mean --version?\n"),
        (("decode", CAPTURE, "--format", "tabel"), "'pcapng'; did you mean table?\n"),
        (("decode", CAPTURE, "-o", "out.xyz"), "html; --format sets one for any name\n"),
        (
            ("query", "lake", "slowest"),
            "clients, errors, latency, overhead, stats, topics, upgrade\n",
        ),
        (
            ("explain", "anomaly", "tag-ordr"),
            "kwire: 'tag-ordr' is not an anomaly code; did you mean TAG_ORDER or ENTRY_ORDER or HEADER_ORDER?\n",
        ),
        (
            ("lint", "docs/images"),
            "kwire: there are no definitions in docs/images: give files, or folders that have *.json files\n",
        ),
        (("dump", CAPTURE), f"kwire: {CAPTURE}: this is a packet capture; kwire decode reads it\n"),
        (
            ("decode", "sample"),
            (
                "kwire: there is no file 'sample'; read as text: no bytes were recognised in this text; give hex, "
                "base64, a hex dump, a literal of a programming language or a capture\n"
            ),
        ),
        (
            ("encode", "nofile"),
            "there is no file 'nofile'; read as text: 1:1: not JSON: Expecting value\n",
        ),
        (("dump", "--state", "orders-0"), "(--as-topic says it)\n"),
        (
            ("stats", "orders-0"),
            (
                "kwire: there is no file 'orders-0'; read as text: this question is about packet captures and brokers' "
                "request logs, not about requests and responses\n"
            ),
        ),
        (("decode", "/var/lib/kafka/data"), "kwire: /var/lib/kafka/data: there is no such file\n"),
        (("encode", "nofile"), "kwire: there is no file 'nofile'; read as text: 1:1: not JSON: Expecting value\n"),
        (("encode", "{"), "not JSON: Expecting property name enclosed in double quotes\n"),
        (("decode", "00 00 1g"), "a literal of a programming language or a capture\n"),
        (
            ("spec", "errors", "broken"),
            " or STALE_BROKER_EPOCH or DUPLICATE_BROKER_REGISTRATION or BROKER_ID_NOT_REGISTERED?\n",
        ),
        (
            ("breaking", "3.9", "4.4"),
            "kafka-clients-3.9.0.jar, or in Kafka's repository as 3.9.0:clients/src/main/resources/common/message\n",
        ),
        (("diff", "FetchRequest", "12"), "give two versions of the message: kwire diff FetchRequest 12 VERSION\n"),
        (("diff", "FetchRequest", "12..99"), "kwire: FetchRequest has versions 0-18, not 99\n"),
        (
            ("diff", "FetchRequest", "Foo"),
            "compares two of its versions, which are 0-18, and kwire diff FetchRequest all shows all of them\n",
        ),
        (
            ("diff", "0000", "Metadata"),
            "compares two of its versions, which are 0-13, and kwire diff Metadata all shows all of them\n",
        ),
        (
            ("explain", "ListLeasesRequest"),
            "own\nTopics are message, varint, type, tag, crc, header, api, error, size, anomaly, finding\n",
        ),
        (
            ("dump", "--offsets", "7-5", SEGMENT),
            "kwire: offsets go from the lower to the higher one: 5-7, not 7-5\n",
        ),
        (("decode", "--filter", "api == Fecth", CAPTURE), "no api has the name 'Fecth'; did you mean Fetch?\n"),
    ],
)
def test_what_is_wrong_is_said(command, said, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert refusal_of(*command).endswith(said)


@pytest.mark.parametrize(
    ("said", "data", "code"),
    [
        (("--api", "Metadata"), "00000001", 2),
        (("--api", "Metadata"), "000000010000000100000000", 0),
        (("--message", "MetadataResponse"), "00", 2),
        (("--message", "MetadataResponse"), "0000000100000001", 0),
        (("--request", "--api", "Metadata"), "00000024", 2),
    ],
)
def test_versions_that_a_message_has_are_said_with_one_that_it_lacks(said, data, code):
    done = kwire("decode", *said, "--message-version", "99", data)
    assert done.code == code
    message = "MetadataRequest" if "--request" in said else "MetadataResponse"
    assert f"kwire: {message} has versions 0-13: 99 is decoded as 13\n" in done.err
    assert "has versions" not in kwire("decode", *said, "--message-version", "13", data).err


def test_two_versions_can_stand_in_one_argument():
    both = [kwire("diff", "FetchRequest", *versions).out for versions in (("12", "18"), ("12..18",), ("12-18",))]
    assert both[0] == both[1] == both[2] != ""


@pytest.mark.parametrize("command", ["dump", "decode", "explain"])
def test_a_misspelt_name_that_reads_as_base64_is_said_to_be_no_file(command):
    done = kwire(command, "orders-0")
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith("kwire: there is no file 'orders-0'; read as text: ")
    assert done.out == "" or command != "dump"
    assert "no file" not in kwire(command, "0000").err


def test_a_capture_from_standard_input_is_no_segment_either():
    assert "this is a packet capture" in kwire("dump", stdin=(ROOT / CAPTURE).read_bytes()).err


def test_definitions_with_errors_are_still_definitions():
    done = kwire("lint", "samples/definitions/draft")
    assert done.code == 1
    assert "error TAG_WITHOUT_TAGGED_VERSIONS" in done.out


def test_a_segment_of_another_name_is_told_its_name(tmp_path):
    (tmp_path / "re.bin").write_bytes(batch(0, [record()]))
    assert refusal_of("dump", "--verify", tmp_path / "re.bin").endswith(
        "a segment has to be named as Kafka does, 00000000000000000000.log\n"
    )
    (tmp_path / f"{0:020}.log").write_bytes(batch(0, [record()]))
    assert kwire("dump", "--verify", tmp_path / f"{0:020}.log").code == 0


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("compressed batches that are blank", "compressed batch that is blank"),
        ("bytes in fragments", "byte in fragments"),
    ],
)
def test_what_is_not_as_before_is_counted_in_grammar(many, one):
    from kwire_cli.cli.sanitize import _tell

    notes = []
    environment = type("Told", (), {"note": staticmethod(notes.append)})
    _tell(environment, {many: 1})
    _tell(environment, {many: 2})
    assert notes == [f"kwire: not as before: 1 {one}", f"kwire: not as before: 2 {many}"]


def test_errors_are_folded_between_words_to_the_width_of_a_terminal():
    command = ("breaking", "3.9", "4.4")
    whole = kwire(*command).err
    for width in (40, 60, 80):
        shown = kwire(*command, terminal=True, variables={"COLUMNS": str(width)}).err
        assert max(map(len, shown.splitlines())) <= width
        assert "".join(shown.split()) == "".join(whole.split())
    assert kwire(*command, terminal=True, variables={"COLUMNS": "400"}).err == whole


@pytest.mark.parametrize(("name", "hint"), [("settlment-7", "; did you mean settlement-7?"), ("nope", "")])
def test_a_transactional_id_that_is_not_there(name, hint):
    for source in ("hanging-transaction.pcap", "hanging-transaction"):
        listed = "there are 2 transactional ids in this: ledger-1, settlement-7"
        assert (
            refusal_of("transactions", ROOT / "samples/incidents" / source, "--transactional-id", name)
            == f"kwire: --transactional-id {name}: {listed}{hint}\n"
        )
