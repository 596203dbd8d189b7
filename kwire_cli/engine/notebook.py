"""The view of decoded bytes in notebooks."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar


class InNotebook:
    """Decoded bytes that notebooks show as HTML."""

    __slots__ = ()
    NOTEBOOK_VIEW: ClassVar[str]
    """The function of `view.html.notebook` that makes the HTML."""

    def _repr_html_(self) -> str:
        """Return the HTML. The function is loaded by name, because this module must not import views."""
        return str(getattr(import_module("kwire_cli.view.html.notebook"), self.NOTEBOOK_VIEW)(self))
