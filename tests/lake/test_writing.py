"""Runs that are killed while they move files, and journals that no run may carry out."""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest
from kit.lakes import content, run

from kwire_cli.errors import InputError
from kwire_cli.lake import writing

CAPTURE = Path(__file__).resolve().parents[3] / "samples" / "captures" / "ipv6.pcap"
FILE = "frames/capture_point=x/day=2026-01-01/a.parquet"


def tree(folder):
    """Every file below a folder with its content."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "lake"
    run([CAPTURE], folder)
    return folder


@pytest.fixture
def lake(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "lake")
    return tmp_path / "lake"


def kill(monkeypatch, steps, lake):
    """Have a run that replaces all files die after it has moved and removed some."""
    done = []

    def failing(step):
        def run_step(*places):
            if len(done) == steps + 1:  # the first one puts the journal in its place
                raise KeyboardInterrupt
            done.append(places)
            step(*places)

        return run_step

    with monkeypatch.context() as patched:
        patched.setattr(writing, "move", failing(writing.move))
        patched.setattr(writing, "remove", failing(writing.remove))
        patched.setattr(writing, "in_parallel", lambda function, items, _: [function(item) for item in items])
        patched.setattr(writing, "remove_tree", lambda _: None)  # it died: nothing tidies up
        with pytest.raises(KeyboardInterrupt):
            run([CAPTURE], lake, again=True)


@pytest.mark.parametrize("steps", [0, 3, 4, 7])
def test_readers_see_each_row_once_and_write_nothing(lake, whole, monkeypatch, steps):
    """There are four files to move, then four to remove."""
    kill(monkeypatch, steps, lake)
    before = tree(lake)
    assert content(lake) == content(whole)
    assert tree(lake) == before
    assert run([CAPTURE], lake).read == 0
    assert content(lake) == content(whole)
    assert len(tree(lake)) == len(tree(whole))
    assert not [*lake.glob("_run-*")]


def test_a_new_lake_has_no_tables_until_a_run_ends(tmp_path, whole, monkeypatch):
    kill(monkeypatch, 2, tmp_path / "lake")
    with pytest.raises(InputError, match=r"killed while it put its files in place, and the next kwire export ends it"):
        content(tmp_path / "lake")
    run([CAPTURE], tmp_path / "lake")
    assert content(tmp_path / "lake") == content(whole)


JOURNALS = {
    "above": {"moves": [["a", "../stolen"]], "gone": []},
    "above, in a table": {"moves": [["a", "frames/capture_point=x/../../../stolen.parquet"]], "gone": []},
    "absolute": {"moves": [["a", "{folder}/stolen.parquet"]], "gone": []},
    "no table": {"moves": [["a", "bin/capture_point=x/a.parquet"]], "gone": []},
    "no file of a table": {"moves": [["a", "frames/authorized_keys"]], "gone": []},
    "backslashes": {"moves": [["a", "frames/..\\..\\stolen.parquet"]], "gone": []},
    "a NUL": {"moves": [["a", "frames/a\0.parquet"]], "gone": []},
    "a file of another folder": {"moves": [["../../kept.txt", FILE]], "gone": []},
    "remove above": {"moves": [], "gone": ["../kept.txt"]},
    "remove an absolute path": {"moves": [], "gone": ["{folder}/kept.txt"]},
    "remove a folder": {"moves": [], "gone": ["frames"]},
    "no list": {"moves": 7, "gone": []},
    "no text": {"moves": [], "gone": [7]},
    "no object": [],
}


@pytest.mark.parametrize("name", JOURNALS)
def test_a_hostile_journal_is_refused_and_nothing_is_touched(lake, tmp_path, name):
    (tmp_path / "kept.txt").write_text("kept")
    hidden = lake / "_run-000000000001"
    hidden.mkdir()
    (hidden / "a").write_text("stolen")
    (hidden / "_journal.json").write_text(json.dumps(JOURNALS[name]).replace("{folder}", str(tmp_path)))
    before = tree(tmp_path)
    for act in (content, partial(run, [CAPTURE])):
        with pytest.raises(InputError, match=r"_journal\.json: .*remove (the|its) folder"):
            act(lake)
        assert tree(tmp_path) == before


@pytest.mark.parametrize("link", ["frames", "_run-000000000001", "_run-000000000001/a"])
def test_links_are_not_followed(lake, tmp_path, link):
    other, hidden = tmp_path / "other", lake / "_run-000000000001"
    shutil.copytree(lake / "frames", other)
    hidden.mkdir()
    (hidden / "a").write_text("stolen")
    (hidden / "_journal.json").write_text(json.dumps({"moves": [["a", FILE]], "gone": [FILE]}))
    source = lake / link
    kept = source.rename(tmp_path / "kept")
    source.symlink_to(kept)
    before = tree(tmp_path)
    with pytest.raises(InputError, match="this is a link, which a run does not follow"):
        run([CAPTURE], lake)
    assert tree(tmp_path) == before
