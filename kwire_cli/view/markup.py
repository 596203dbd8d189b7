"""Text in HTML, SVG and XML: the only function through which a name gets into markup that kwire writes."""

from __future__ import annotations

import re
from html import escape

from kwire_cli.view.lines import escaped

_FORBIDDEN = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML has no form for. `escaped` leaves none of them but those that it takes for printable."""


def markup_text(text: str) -> str:
    """Return a string as the text of an element or the value of an attribute. Hidden characters are escaped."""
    return _FORBIDDEN.sub("\ufffd", escape(escaped(text)))
