"""The site of docs/ builds without a warning, holds every page, and a link that leads nowhere is an error."""

import shutil
import subprocess
import sys

import pytest
from kit.commands import ROOT


def built(source, out):
    options = ["--quiet", "--keep-going", "--fail-on-warning", "-b", "html", "-c", "docs"]
    command = [sys.executable, "-m", "sphinx", *options, ".", out]
    return subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_site_has_every_page_and_no_warning(tmp_path):
    done = built(ROOT, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "url=docs/index.html" in (tmp_path / "index.html").read_text("utf-8")
    front = (tmp_path / "docs" / "index.html").read_text("utf-8")
    for page in sorted((ROOT / "docs").rglob("*.md")):
        built_page = page.relative_to(ROOT / "docs").with_suffix(".html")
        assert (tmp_path / "docs" / built_page).exists()
        assert f'href="{built_page.as_posix()}"' in front or page.stem == "index"
    assert 'href="../README.html"' in front


@pytest.mark.slow
def test_links_that_lead_nowhere_are_errors(tmp_path):
    source = tmp_path / "source"
    (source / "docs").mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "conf.py", source / "docs")
    (source / "docs" / "filter.md").write_text("# Filters\n\n## Fields\n", "utf-8")
    (source / "docs" / "stray.md").write_text("# In no section\n", "utf-8")
    (source / "docs" / "index.md").write_text(
        "# Front\n\n[a](filter.md#fields) [b](filter.md#values) [c](absent.md) [d](#there)\n", "utf-8"
    )
    done = built(source, tmp_path / "site")
    assert done.returncode == 1
    warnings = done.stderr
    assert "'values'" in warnings
    assert "'absent.md'" in warnings
    assert "'there'" in warnings
    assert "stray.md" in warnings
    assert "'fields'" not in warnings
