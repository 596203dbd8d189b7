"""Paths of this machine, and calls for several paths at once."""

import subprocess
import sys
from pathlib import Path

from kwire_cli.source.files import named
from kwire_cli.stores.paths import absolute, in_parallel, is_url, path_of


def test_files_of_this_machine(tmp_path):
    file = tmp_path / "a b.log"
    file.write_bytes(b"x")
    assert path_of(file.as_uri()) == file
    assert named(file.as_uri()) == [str(file)]
    assert not is_url(file.as_uri())
    assert not is_url(file)
    assert is_url("S3://bucket/x")


def test_calls_wait_together_and_keep_their_order():
    assert in_parallel(len, ["memory://a", "b", "ccc"]) == [10, 1, 3]
    assert in_parallel(str, [3, 1], lambda number: f"memory://{number}") == ["3", "1"]


def test_the_base_commands_import_no_pyarrow():
    program = (
        "import sys, kwire_cli.cli.dump, kwire_cli.source.text.reading; sys.exit(any(name in sys.modules "
        "for name in ('pyarrow', 'fsspec', 'numpy')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, cwd=Path(__file__).parent).returncode == 0


def test_an_absolute_path_has_no_parents_in_it(tmp_path, monkeypatch):
    (tmp_path / "far" / "b").mkdir(parents=True)
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "link").symlink_to(tmp_path / "far" / "b")
    monkeypatch.chdir(tmp_path / "near")
    assert absolute("../near/x.pcap") == str(tmp_path / "near" / "x.pcap")
    assert absolute("link/../x.pcap") == str(tmp_path / "far" / "x.pcap")  # as the system opens it
    assert absolute("link/x.pcap") == str(tmp_path / "near" / "link" / "x.pcap")
    assert absolute("s3://bucket/a/../b") == "s3://bucket/a/../b"
