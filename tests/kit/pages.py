"""Pages in HTML as tests read them: their elements, and the data in them."""

import base64
import json
import zlib
from html.parser import HTMLParser
from itertools import pairwise

import kwire_cli
from kit.commands import kwire
from kwire_cli.message.redaction import Redaction
from kwire_cli.records.reading import read_items, source_of
from kwire_cli.source.logs.files import topic_at
from kwire_cli.view.bounded_outline import of_frame, of_item
from kwire_cli.view.page.details import entry


class Elements(HTMLParser):
    """What a browser takes for markup: elements with their attributes, and the texts of scripts by id."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.blocks, self.scripts, self._inside = [], {}, [], None
        self.title = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._inside = (tag, dict(attributes).get("id"))

    def handle_endtag(self, _):
        self._inside = None

    def handle_data(self, data):
        tag, name = self._inside or (None, None)
        if tag == "title":
            self.title += data
        elif tag == "script" and name:
            self.blocks[name] = self.blocks.get(name, "") + data
        elif tag == "script":
            self.scripts.append(data)


def page_data(text):
    """Return the data of the text of a page, with its entries: fields and bytes, unpacked."""
    blocks = Elements(text).blocks
    data = json.loads(blocks.pop("data"))
    chunks = [zlib.decompress(base64.b64decode(json.loads(blocks[f"chunk{number}"]))) for number in range(len(blocks))]
    data["entries"] = [entry for chunk in chunks for entry in json.loads(chunk)]
    return data


def elements_of(*arguments, **streams):
    """Return the elements of the page that a command writes."""
    done = kwire(*arguments, **streams)
    assert done.code in {0, 1}, done.err
    return Elements(done.out)


def data_of(*arguments, **streams):
    """Return `page_data` of the page that a command writes."""
    done = kwire(*arguments, **streams)
    assert done.code in {0, 1}, done.err
    return page_data(done.out)


def column(data, name):
    """Return the values of a column of the rows of a page, words as words."""
    rows = data["rows"]
    values = rows["values"].get(name, [None] * rows["count"])
    return [rows["words"][name][value] for value in values] if name in rows["words"] else values


def nodes_of(entry):
    """Yield the nodes of an entry: depth, name, kind, buffer, the place, and the text."""
    for depth, name, kind, buffer, *place_and_line in entry["nodes"]:
        place, line = place_and_line[:3], place_and_line[3:]
        yield depth, name, kind, buffer, place, "".join(line[::2])


def rows_of(entry):
    """Return the nodes of an entry as rows with their paths, worked out as the page's script does."""
    open_, out = [], []
    for depth, name, kind, buffer, place, text in nodes_of(entry):
        del open_[depth:]
        open_.append(name)
        path = ""
        for each in open_:
            if not each.startswith("("):
                path += each if each.startswith("[") or not path else f".{each}"
        row = {"path": path, "name": name, "kind": kind, "buffer": buffer, "place": tuple(place), "text": text}
        out.append(row | {"depth": depth})
    return out


def entries(file, *, show_secrets=False):
    """Return the fields and bytes of each frame or batch of a file, as a page has them."""
    if file.suffix not in {".hex", ".log", ".checkpoint"}:
        return data_of("report", file)["entries"]
    redaction = Redaction(kwire_cli.catalog(), show_secrets=show_secrets)
    reading = redaction.reading()
    if file.suffix != ".hex":
        source = source_of(file, topic=topic_at(file), catalog=redaction.catalog)
        items = read_items(source)
        outlines = (of_item(redaction.catalog, item, source, reading, full=False) for item in items)
    else:
        outlines = (
            of_frame(redaction.catalog, frame, redaction.frame(frame), reading, full=False)
            for frame in kwire_cli.read_frames(file)
        )
    return [entry(outline) for outline in outlines]


def bytes_of(buffer):
    """Return the bytes of a buffer of an entry."""
    return base64.b64decode(buffer["data"])


def uncovered(entry):
    """Return how many bytes of the first buffer are in no node."""
    places = sorted((place[0], place[2]) for _, _, _, buffer, place, _ in nodes_of(entry) if buffer == 0)
    [first] = entry["buffers"][:1]
    ends = [first["at"], *(end for _, end in places)]
    return sum(max(0, start - max(ends[: at + 1])) for at, (start, _) in enumerate(places)) + (
        first["at"] + len(bytes_of(first)) - max(ends)
    )


def in_order(values):
    """Return whether values grow."""
    return all(before <= after for before, after in pairwise(values))
