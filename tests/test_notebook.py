"""docs/notebooks: each notebook runs from top to end, and prints the numbers that it shows."""

import os
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest
from kit.commands import ROOT

pytestmark = pytest.mark.slow  # a kernel and matplotlib take seconds to start
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
LARGEST = 150_000
"""Bytes of a notebook with its plots."""


def run(path, folder, monkeypatch):
    """Run a notebook beside the samples, where no earlier run left a lake."""
    here = folder / "docs" / "notebooks"
    here.mkdir(parents=True)
    (folder / "samples").symlink_to(ROOT / "samples")
    monkeypatch.setenv("PATH", os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook,
        resources={"metadata": {"path": str(here)}},
        kernel_name="python3",
        timeout=300,
        record_timing=False,
        coalesce_streams=True,
    ).execute()
    return notebook


def shown(notebook):
    """The text of each output; the bytes of a plot depend on matplotlib's version and fonts."""
    return [
        sorted((output.output_type, output.get("text") or output.data["text/plain"]) for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def plots(notebook):
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return sum("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path, updating, tmp_path, monkeypatch):
    before = nbformat.read(path, as_version=4)
    after = run(path, tmp_path, monkeypatch)
    if updating:
        after.metadata = before.metadata
        nbformat.write(after, path)
        return
    assert shown(after) == shown(before)
    assert plots(after) == plots(before) > 0
    assert path.stat().st_size < LARGEST
