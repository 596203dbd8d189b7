"""No table of a lake holds a secret, whole or damaged."""

import pyarrow.parquet as pq
import pytest
from kit.lakes import rows_of, run
from kit.secrets import (
    NEWEST,
    SECRET,
    answer_of,
    authentication,
    batch_of,
    body_of,
    capture,
    conversation,
    damages,
    misaligned,
    shows,
)

from kwire_cli.lake import chosen, export as exporting
from kwire_cli.lake.export import export
from kwire_cli.lake.model import Reading, Wanted
from kwire_cli.spec.kafka import CLUSTER_METADATA

FRAMES = [row for row in NEWEST if row[0].endswith(("Request", "Response"))]
ONE = ("SaslAuthenticateRequest", "authBytes", 2)


def text_of(folder):
    """Everything in all tables but `inputs`, as text."""
    files = [path for path in folder.rglob("*.parquet") if path.parent != folder / "inputs"]
    return "\n".join(
        f"{path.parent.parent.name} {pq.read_table(path, partitioning=None).to_pylist()}" for path in files
    )


@pytest.mark.slow
@pytest.mark.parametrize(("message", "field", "version"), [ONE, *FRAMES[::3]])
def test_no_table_holds_a_secret(message, field, version, tmp_path):
    before, (side, frame), after = conversation(message, version, body_of(message, field, version))
    frames = [("whole", frame), *([*damages(frame)][::3] if (message, field, version) == ONE else ())]
    for number, (how, data) in enumerate(frames):
        path = tmp_path / f"{number}.pcap"
        path.write_bytes(capture([*before, (side, data), *after]))
        export([str(path)], tmp_path / f"lake-{number}", Wanted(chosen("all"), Reading()))
        text = text_of(tmp_path / f"lake-{number}")
        assert message.removesuffix("Request").removesuffix("Response") in text or how != "whole"
        assert not shows(text), (message, how)


def exported(said, folder, **reading):
    """Return all tables of a capture in which this is said, as text."""
    (folder / "secret.pcap").write_bytes(capture(said))
    export([str(folder / "secret.pcap")], folder / "lake", Wanted(chosen("all"), Reading(**reading)))
    return text_of(folder / "lake")


def test_a_request_with_a_secret_has_no_digest(tmp_path):
    """A checksum would confirm a guess of the secret."""
    before, said, after = conversation("SaslAuthenticateRequest", 2, body_of(*ONE[:2], 2))
    (tmp_path / "one.pcap").write_bytes(capture([*before, said, *after]))
    run([tmp_path / "one.pcap"], tmp_path / "lake", "frames")
    rows = dict(rows_of(tmp_path / "lake", "select api, max(digest) from frames where kind = 'request' group by api"))
    assert rows["SaslAuthenticate"] is None
    assert rows["Metadata"] is not None


TOKENS = [b"n,,n=u,r=%b", b"r=%b,s=%b", b"c=biws,r=%b", b"v=%b"]


def test_no_table_holds_a_token_under_another_api_key(tmp_path):
    tokens = [token.replace(b"%b", SECRET.encode()) for token in TOKENS]
    text = exported(authentication(37, tokens), tmp_path)
    assert text.count("'sasl-token'") >= len(tokens)
    assert not shows(text)


@pytest.mark.slow
@pytest.mark.parametrize(("api", "version"), [("Fetch", 12), ("Fetch", 13), ("FetchSnapshot", 0)])
def test_no_table_holds_a_secret_of_a_misaligned_answer_about_the_metadata(api, version, tmp_path):
    asked, answer = answer_of(api, version, CLUSTER_METADATA, batch_of("ConfigRecord", "value"))
    for number, (how, data) in enumerate([*misaligned(answer)][::34]):
        (tmp_path / str(number)).mkdir()
        assert not shows(exported([(0, asked), (1, data)], tmp_path / str(number))), how


def test_no_file_that_a_run_removes_holds_a_secret(tmp_path, monkeypatch):
    """The hidden folder of a run has its tables, and what its tasks give one another."""
    removed = []

    def look(folder):
        removed.extend(path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file())
        remove_tree(folder)

    remove_tree = exporting.remove_tree
    monkeypatch.setattr(exporting, "remove_tree", look)
    monkeypatch.setattr("kwire_cli.lake.processes.FEW_BYTES", 1)
    before, (side, frame), after = conversation(*ONE[::2], body_of(*ONE))
    assert not shows(exported([*before, (side, frame[:20] + frame[21:]), *after], tmp_path))
    assert removed
    assert not any(map(shows, removed))


@pytest.mark.slow
@pytest.mark.parametrize(("message", "field", "version"), [ONE, FRAMES[0]])
def test_secrets_are_there_when_asked_for(message, field, version, tmp_path):
    """The test above can find what it looks for."""
    before, (side, frame), after = conversation(message, version, body_of(message, field, version))
    assert shows(exported([*before, (side, frame), *after], tmp_path, show_secrets=True))
