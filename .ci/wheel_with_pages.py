"""The build backend: hatchling, with manual pages and completions of shells in the wheel, made from the commands, and
with README.md as the description, whose links lead to the repository.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from hatchling import build
from hatchling.build import *  # noqa: F403 - the other functions of a backend
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

COMPLETIONS = {
    "bash": "share/bash-completion/completions/kwire",
    "zsh": "share/zsh/site-functions/_kwire",
    "fish": "share/fish/vendor_completions.d/kwire.fish",
}
"""The places below a prefix in which shells look for completions."""


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return what a build needs: to make pages from commands, all that kwire needs. An editable one has no pages."""
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    return [*build.get_requires_for_build_wheel(config_settings), *project["dependencies"]]


LINK = re.compile(r"(!?)(\[[^]]*\]\()(?!\w+:|#)([^)\s]+\))")
"""A relative link in Markdown, or a relative picture."""


class Description(MetadataHookInterface):
    """README.md as the description: PyPI shows it where relative links lead nowhere."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description, with links to the tag of the version in the repository."""
        url, tag = metadata["urls"]["Repository"], f"v{metadata['version']}"

        def absolute(link: re.Match[str]) -> str:
            mark, start, place = link.groups()
            return f"{mark}{start}{url}/{'raw' if mark else 'blob'}/{tag}/{place}"

        text = LINK.sub(absolute, Path(self.root, "README.md").read_text("utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class Shared(BuildHookInterface):
    """Pages and completions as shared data, which pip puts below the prefix of the environment."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files into a temporary folder, and name them."""
        self.folder = Path(tempfile.mkdtemp(prefix="kwire-"))
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from kwire_cli.cli.man_pages import write  # noqa: PLC0415 - of this source tree
        from kwire_cli.cli.shells import script  # noqa: PLC0415 - as above

        write(self.folder)
        files = {str(page): f"share/man/man1/{page.name}" for page in sorted(self.folder.iterdir())}
        for shell, place in COMPLETIONS.items():
            file = self.folder / shell
            file.write_text(script(shell), "utf-8")
            files[str(file)] = place
        build_data["shared_data"] = files

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder)
