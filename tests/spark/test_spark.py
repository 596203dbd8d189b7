"""The workers of an embedded Spark, and what any Spark reads of a lake."""

import re
import shlex
from pathlib import Path

import pytest
from kit.commands import kwire

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lake.md"

pytestmark = pytest.mark.spark


def test_workers_look_for_no_garbage_among_what_was_imported_for_them(spark):
    def left_out(batches):
        import gc

        for batch in batches:
            yield batch.set_column(0, "id", [gc.get_freeze_count()])

    (row,) = spark.range(1, numPartitions=1).mapInArrow(left_out, "id bigint").collect()
    assert row[0] > 10_000


@pytest.mark.usefixtures("spark")
def test_the_page_reads_the_lake_that_export_wrote(monkeypatch, capsys, updating, tmp_path):
    text = PAGE.read_text("utf-8")
    (command,) = re.findall(r"^kwire (export samples.* -o lake --master .*)$", text, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").symlink_to(PAGE.parents[1] / "samples")
    assert kwire(*shlex.split(command)).code == 0
    [(program, shown)] = re.findall(r"```python\n([^`]*?)```\n\n```\n(.*?)```", text, re.DOTALL)
    exec(program.replace('"lake"', f'"{tmp_path}/lake"'), {})  # in this session; Java has another working directory
    printed = capsys.readouterr().out.strip("\n") + "\n"
    if updating:
        text = text.replace(f"{program}```\n\n```\n{shown}```", f"{program}```\n\n```\n{printed}```")
        PAGE.write_text(text, "utf-8")
    else:
        assert printed == shown
