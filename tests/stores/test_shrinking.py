"""Files that are really cut while they are read: an error with the offset, and never the end of the process."""

import os
import subprocess
import sys
import textwrap

import pytest
from command_line import ROOT

SEGMENT = next((ROOT / "samples" / "segments" / "txn-out-0").glob("*.log"))
CAPTURE = ROOT / "samples" / "captures"
READ = """
    import os, sys
    import kwire_cli as kwire
    from kwire_cli.errors import InputError
    from kwire_cli.records.reading import source_of
    from kwire_cli.records.reading import Reader, read_items
    from kwire_cli.stores import opening

    opening.BLOCK = opening.KEPT = 4096

    def found_in_bulk(source):
        from kwire_cli.records import bulk_batches

        bulk_batches.CHUNK = 8192
        return bulk_batches.heads(source)

    path, keep, way = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    source = source_of(path)
    reader = Reader(source)
    steps = {
        "items": lambda: (item.to_json() for item in reader.items()),
        "plain": lambda: (found[:2] for found in reader.plain(source.layouts[2])),
        "bulk": lambda: found_in_bulk(source),
    }[way]()
    first = next(steps)
    os.truncate(path, keep)
    try:
        for _ in steps:
            pass
        for _ in reader.items():
            pass
    except InputError as error:
        print(error)
"""


def run(*arguments):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.parametrize("way", ["items", "plain", pytest.param("bulk", marks=pytest.mark.numba)])
@pytest.mark.parametrize("keep", [0, 1, 4096, 5000, 40_960, 70_001])
def test_a_segment_that_becomes_shorter_is_an_error_with_its_offset(tmp_path, way, keep):
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(SEGMENT.read_bytes() * 500)
    size = path.stat().st_size
    done = run("-c", textwrap.dedent(READ), path, keep, way)
    assert (done.returncode, done.stderr) == (0, "")
    text = f"{path}: it became shorter while it was read: it had {size} bytes and ends at byte {keep} now"
    assert text in done.stdout.splitlines()


@pytest.mark.parametrize(
    "options", [(), ("--deep",), ("--format", "table"), ("--format", "csv", "--deep"), ("--verify", "--deep")]
)
def test_dump_of_a_segment_that_becomes_shorter(tmp_path, options):
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(SEGMENT.read_bytes() * 40_000)
    command = [sys.executable, "-m", "kwire_cli", "dump", *options, str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:  # it waits for the pipe to be read
        process.stdout.readline()
        os.truncate(path, 8192)
        _, err = process.communicate()
    assert process.returncode == 2
    assert b"it became shorter while it was read" in err
    assert b"ends at byte 8192 now" in err


def test_a_capture_that_becomes_shorter(tmp_path):
    capture = max(CAPTURE.glob("*.pcap"), key=lambda file: file.stat().st_size)
    data = capture.read_bytes()
    path = tmp_path / "a.pcap"
    path.write_bytes(data[:24] + data[24:] * (20_000_000 // len(data)))
    command = [sys.executable, "-m", "kwire_cli", "decode", "--format", "jsonl", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        process.stdout.readline()
        os.truncate(path, 5000)
        _, err = process.communicate()
    assert process.returncode in {0, 1, 2}
    assert b"it became shorter while it was read" in err
