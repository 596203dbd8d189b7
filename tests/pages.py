"""Pages in HTML as tests read them: the data in them, and what of it a browser would take for markup."""

import base64
import json
import re
from html.parser import HTMLParser

from command_line import kwire


class Parser(HTMLParser):
    """The elements of a page with their attributes, and what stands in the scripts that are data."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.elements, self.data, self.text, self._open = [], {}, [], None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        self._open = (tag, attributes.get("id")) if tag in {"script", "style"} else None

    def handle_endtag(self, _):
        self._open = None

    def handle_data(self, data):
        if self._open and self._open[1]:
            self.data[self._open[1]] = json.loads(data)
        elif not self._open:
            self.text.append(data)


def parsed(text):
    found = Parser()
    found.feed(text)
    found.close()
    return found


def page(*arguments, **options):
    """The page that a command writes, parsed, and its text."""
    done = kwire(*arguments, "--format", "html", **options)
    assert done.code in {0, 1}, done.err
    return parsed(done.out)


def entries(found):
    """The entries of a page in order."""
    return [found.data[f"e{number}"] for number in range(len(found.data["page"]["rows"]))]


def rows_of(entry):
    """The rows of an entry with their paths, worked out as the page's script does."""
    open_, out = [], []
    for depth, name, kind, buffer, start, value, end, *said in entry["nodes"]:
        del open_[depth:]
        open_.append(name)
        path = ""
        for each in open_:
            if not each.startswith("("):
                path += each if each.startswith("[") or not path else f".{each}"
        out.append(
            {
                "path": path,
                "name": name,
                "kind": kind,
                "buffer": buffer,
                "place": (start, value, end),
                "text": "".join(said[::2]),
                "depth": depth,
            }
        )
    return out


def bytes_of(buffer):
    return base64.b64decode(buffer["data"])


def without_code(text):
    """A page without its style and script, which know no message."""
    return re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL)
