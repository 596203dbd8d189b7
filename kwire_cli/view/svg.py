"""Elements that the SVG pictures of `charts` and `ladder` share.

Text is escaped here. The elements contain no references to other files, so a picture can be opened safely.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.view.markup import markup_text

if TYPE_CHECKING:
    from collections.abc import Iterator

LETTER = 6.7
"""Maximum width of a character of the font of 11 pixels."""


def opening(width: float, height: float, title: str, style: str) -> Iterator[str]:
    """Yield the first lines of a file, up to its style."""
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    yield f"<title>{markup_text(title)}</title>"
    yield f"<style>{style}</style>"


def text_element(look: str, x: float, y: float, text: str, whole: str = "") -> str:
    """Return a text element with the class `look`. If the text was cut, `whole` is the complete text for its title."""
    style = f' class="{look}"' if look else ""
    title = f"<title>{markup_text(whole)}</title>" if whole and whole != text else ""
    return f'<text{style} x="{x:g}" y="{y:g}">{title}{markup_text(text)}</text>'
