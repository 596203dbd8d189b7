"""Opening inputs: each kind is opened as what it is, and its subjects are what they ought to be."""

import io

import pytest
from kit.captures import SAMPLES

import kwire_cli
from kwire_cli.errors import InputError
from kwire_cli.source.files import Naming
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import open_inputs, open_records
from kwire_cli.source.reading import Caller, Reading

CAPTURE = SAMPLES / "captures" / "kafka-python-4.4.0.pcapng"
LOG = SAMPLES / "request-logs" / "kafka-request.log"
SEGMENT = SAMPLES / "segments" / "txn-out-0" / "00000000000000000000.log"
INDEX = SAMPLES / "logs" / "trimmed-0" / "00000000000000000030.index"
FRAME = SAMPLES / "frames" / "metadata-v0-request.hex"
CATALOG = kwire_cli.catalog()


class Listening(Caller):
    """A caller that keeps what it is told."""

    def __init__(self, stdin=b""):
        self.stdin, self.notes, self.told, self.ended = io.BytesIO(stdin), [], [], 0

    def note(self, text):
        self.notes.append(text)

    def progress(self, label, at, size, unit="bytes"):
        if unit == "bytes":
            self.told.append((label, at, size))

    def done(self):
        self.ended += 1


def kinds_and_subjects(arguments, caller=None, **how):
    inputs = open_inputs([*map(str, arguments)], Reading(catalog=CATALOG, **how), caller or Listening())
    return [(opened.kind, {type(subject).__name__ for subject in opened.subjects()}) for opened in inputs]


@pytest.mark.parametrize(
    ("argument", "how", "kind", "subjects"),
    [
        (CAPTURE, {}, Kind.CAPTURE, {"Captured"}),
        (LOG, {}, Kind.REQUEST_LOG, {"Exchange"}),
        (SEGMENT, {}, Kind.BATCHES, {"LogItem"}),
        (SEGMENT.parent, {}, Kind.FOLDER, {"LogItem"}),
        (INDEX.parent, {"every": True}, Kind.FOLDER, {"LogItem"}),
        (INDEX, {}, Kind.LOG_FILE, set()),
        (FRAME, {}, Kind.FRAMES, {"Frame"}),
        ("0000", {"message": "HeartbeatResponse", "version": 0}, Kind.BODY, {"Decoded"}),
    ],
)
def test_each_kind_has_its_subjects(argument, how, kind, subjects):
    assert kinds_and_subjects([argument], **how) == [(kind, subjects)]


def test_standard_input_is_what_is_in_it():
    for file, kind in ((CAPTURE, Kind.CAPTURE), (LOG, Kind.REQUEST_LOG), (SEGMENT, Kind.BATCHES), (FRAME, Kind.FRAMES)):
        for arguments in (["-"], []):
            [(recognised, subjects)] = kinds_and_subjects(arguments, Listening(file.read_bytes()))
            assert (recognised, len(subjects)) == (kind, 1)


def test_files_of_a_capture_point_are_one_input(tmp_path):
    names = [tmp_path / name for name in ("a.pcapng", "b.pcap")]
    for name, sample in zip(names, ("kafka-python-4.4.0.pcapng", "midstream.pcap"), strict=True):
        name.write_bytes((SAMPLES / "captures" / sample).read_bytes())
    how = Reading(catalog=CATALOG, naming=Naming("/"))
    inputs = open_inputs([*map(str, names)], how, Listening())
    assert (inputs.several, inputs.labelled) == (False, True)
    for _ in range(2):  # and they can be iterated again
        [opened] = inputs
        assert opened.files == (str(names[0]), str(names[1]))
        assert sum(1 for _ in opened.subjects()) > 0


def test_the_caller_is_told_of_progress_faults_and_the_end(tmp_path):
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(CAPTURE.read_bytes()[:-100])
    caller = Listening()
    assert kinds_and_subjects([cut], caller) == [(Kind.CAPTURE, {"Captured"})]
    assert caller.told[-1] == (str(cut), cut.stat().st_size, cut.stat().st_size)
    assert caller.ended == 1
    [note] = caller.notes
    assert note.startswith(f"{cut}: after packet ")


def test_records_of_the_library_are_a_file_or_the_bytes_themselves():
    how = Reading(catalog=CATALOG, topic="mine")
    for given in (SEGMENT, str(SEGMENT), SEGMENT.read_bytes(), memoryview(SEGMENT.read_bytes())):
        source = open_records(given, how)
        assert (source.size, source.topic) == (SEGMENT.stat().st_size, "mine")
    with pytest.raises(InputError, match="which read_frames reads"):
        open_records(CAPTURE.read_bytes(), how)


def test_a_folder_without_logs_stands_for_its_captures(tmp_path):
    copies = [tmp_path / name for name in ("a.pcap", "b.pcapng")]
    for copy, name in zip(copies, ("midstream.pcap", "kafka-python-4.4.0.pcapng"), strict=True):
        copy.write_bytes((SAMPLES / "captures" / name).read_bytes())
    (tmp_path / "notes.txt").write_text("nothing of Kafka")
    found = kinds_and_subjects([tmp_path])
    assert found == kinds_and_subjects(copies)
    assert {kind for kind, _ in found} == {Kind.CAPTURE}
    partition = tmp_path / "orders-0"
    partition.mkdir()
    (partition / SEGMENT.name).write_bytes(SEGMENT.read_bytes())
    assert [kind for kind, _ in kinds_and_subjects([tmp_path])] == [Kind.FOLDER]
