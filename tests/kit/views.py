"""What kwire shows, read back: tables in JSON, documents by their schemas, pages, the terminal interface."""

import asyncio
import base64
import json
import zlib
from contextlib import asynccontextmanager
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise

from jsonschema import Draft202012Validator

import kwire_cli
from kit.commands import ROOT, kwire
from kwire_cli.cli.tui import Options, opened_file
from kwire_cli.message.redaction import Redaction
from kwire_cli.records.reading import read_items, source_of
from kwire_cli.source.logs.files import topic_at
from kwire_cli.tui.app import Inspector
from kwire_cli.tui.browser import Browser
from kwire_cli.tui.keys import Prompt
from kwire_cli.tui.listing import Search
from kwire_cli.view.answers import answer_document
from kwire_cli.view.bounded_outline import of_frame, of_item
from kwire_cli.view.page.details import entry

# The JSON form of Answers, as tests look into it.


def keyed(document):
    """Return the tables of an answer as objects of rows by their first column, and the facts beside them."""
    tables = {name: {next(iter(row.values())): row for row in rows} for name, rows in document["tables"].items()}
    return tables | document["facts"]


def keyed_answer(answer):
    """Return `keyed` of an Answer."""
    return keyed(answer_document(answer))


# What kwire prints, checked against the JSON Schemas in docs/.


def validator(name):
    """Return a validator for docs/NAME.schema.json that checks formats such as date-time too."""
    schema = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def documents(text):
    """Yield the JSON documents of a text."""
    at, decoder = 0, json.JSONDecoder()
    while at < len(text.rstrip()):
        document, at = decoder.raw_decode(text, at)
        at += len(text) - at - len(text[at:].lstrip())
        yield document


def hold(schema, text):
    """Assert that a text has documents, and that all of them are valid."""
    found = [*documents(text)]
    assert found
    for document in found:
        errors = [*schema.iter_errors(document)]
        assert not errors, (errors[0].json_path, errors[0].message[:500])


# Pages in HTML: their elements, and the data in them.


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


# The terminal interface without a terminal: keys are pressed, and what is on the screen is text.

HANDLED = 4
"""Rounds in which messages are handled: what a key does is told to the application, the screen, a widget and back."""
ROWS = {"80x24": (80, 24), "200x60": (200, 60)}


def opener(options):
    return partial(opened_file, Options(**options))


def listing(file, **options):
    return opener(options)(str(file), None).listing


def read(file, **options):
    """A listing that was read to its end."""
    found = listing(file, **options)
    for _ in found.read():
        pass
    return found


def matching(found, text):
    """Return the numbers of the entries that match a filter."""
    search = Search(found, text)
    for _ in search.steps():
        pass
    return [*search.numbers]


def strips(app):
    return app.screen._compositor.render_strips()


def screen(app):
    """The text on the screen."""
    return "".join(f"{strip.text.rstrip()}\n" for strip in strips(app))


def browser(app):
    """The screen with the file, which may be below others."""
    return next(found for found in reversed(app.screen_stack) if isinstance(found, Browser))


def is_settled(app):
    """Return whether nothing is read or looked at, other than a file that grows."""
    for each in app.screen_stack:
        if isinstance(each, Browser):
            if set(each.shares) - ({"reading"} if each.follows else set()) or each._settling is not None:
                return False
            if each.search and each.search.is_behind and "looking" not in each._failed:
                return False
    return all(worker.is_finished for worker in app.workers if worker.group != "reading" or not worker.node.follows)


async def settled(pilot):
    """When nothing is being read or looked at any more. A pause of no time lets all messages be handled that are there;
    one without a time would also sleep until the process is idle.
    """
    for _ in range(HANDLED):
        await pilot.pause(0)
    while not is_settled(pilot.app):
        await pilot.pause(0.005)
    for found in pilot.app.screen_stack:
        if isinstance(found, Browser):
            found.update_state()
    await pilot.pause(0)


@asynccontextmanager
async def running(first, size=(100, 30)):
    """A pilot of the application with a first screen, once all of its file was read."""
    app = Inspector(first)
    app.animation_level = "none"
    app.NOTIFICATION_TIMEOUT = 3600  # no message goes before it was looked at
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        yield pilot


@asynccontextmanager
async def opened(file, size=(100, 30), filter_text="", *, follows=False, **options):
    """A pilot of the application that shows a file, once all of it was read."""
    async with running(Browser(str(file), opener(options), filter_text, follows=follows), size) as pilot:
        yield pilot


async def press(pilot, *keys):
    for key in keys:
        pilot.app.simulate_key(key)  # the pilot's own way sleeps twice until the process is idle
        await settled(pilot)


async def say(pilot, key, text):
    """Open the prompt by its key and answer."""
    await press(pilot, key)
    assert isinstance(pilot.app.screen, Prompt)
    pilot.app.screen.input.value = text
    await press(pilot, "enter")


def run(steps):
    return asyncio.run(steps)


def on_screen(file, **options):
    """Make a test of a coroutine, which gets the pilot of the application that shows a file."""

    def decorate(steps):
        async def session():
            async with opened(file, **options) as pilot:
                await steps(pilot)

        def test():
            run(session())

        return test

    return decorate
