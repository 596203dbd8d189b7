"""A hook of hatchling: README.md as the description of the package, with links that lead to the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

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
