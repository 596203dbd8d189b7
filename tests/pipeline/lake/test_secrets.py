"""No table of a lake holds a secret, whole or damaged."""

import pytest
from secret_table import NEWEST, body_of, capture, conversation, damages, shows

pytest.importorskip("duckdb")
pytest.importorskip("numba")
pytest.importorskip("pyarrow")

import pyarrow.parquet as pq

from kwire_cli.pipeline.lake import chosen
from kwire_cli.pipeline.lake.export import export
from kwire_cli.pipeline.model import Reading, Wanted

pytestmark = pytest.mark.numba

FRAMES = [row for row in NEWEST if row[0].endswith(("Request", "Response"))]
ONE = ("SaslAuthenticateRequest", "authBytes", 2)


def text_of(folder):
    """Everything in all tables but `inputs`, as text."""
    files = [path for path in folder.rglob("*.parquet") if path.parent != folder / "inputs"]
    return "\n".join(
        f"{path.parent.parent.parent.name} {pq.read_table(path, partitioning=None).to_pylist()}" for path in files
    )


@pytest.mark.slow
@pytest.mark.parametrize(("message", "field", "version"), FRAMES)
def test_no_table_holds_a_secret(message, field, version, tmp_path):
    before, (side, frame), after = conversation(message, version, body_of(message, field, version))
    frames = [("whole", frame), *(damages(frame) if (message, field, version) == ONE else ())]
    for number, (how, data) in enumerate(frames):
        path = tmp_path / f"{number}.pcap"
        path.write_bytes(capture([*before, (side, data), *after]))
        export([str(path)], tmp_path / f"lake-{number}", Wanted(chosen("all"), Reading()))
        text = text_of(tmp_path / f"lake-{number}")
        assert message.removesuffix("Request").removesuffix("Response") in text or how != "whole"
        assert not shows(text), (message, how)


@pytest.mark.slow
@pytest.mark.parametrize(("message", "field", "version"), [row for row in FRAMES if "Envelope" not in row[0]])
def test_secrets_are_there_when_asked_for(message, field, version, tmp_path):
    """The test above can find what it looks for."""
    before, (side, frame), after = conversation(message, version, body_of(message, field, version))
    path = tmp_path / "secret.pcap"
    path.write_bytes(capture([*before, (side, frame), *after]))
    export([str(path)], tmp_path / "lake", Wanted(chosen("all"), Reading(show_secrets=True)))
    assert shows(text_of(tmp_path / "lake"))
