"""Text in HTML, SVG and XML.

All markup that kwire writes takes its text from this function, so that names in captures can never become elements or
scripts.
"""

from __future__ import annotations

import re
from html import escape

from kwire_cli.view.lines import escaped

_FORBIDDEN = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot represent. Only those that Python treats as printable are left after `escaped`."""


def markup_text(text: str) -> str:
    """Return a string as the text of an element or the value of an attribute. Hidden characters are escaped."""
    return _FORBIDDEN.sub("\ufffd", escape(escaped(text)))
