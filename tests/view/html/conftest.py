"""A real browser: Debian's chromium, or another one that is there, without a window."""

import shutil
from dataclasses import dataclass, field

import pytest
from kit.commands import kwire

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def chromium():
    """The browser; tests are skipped without one. Playwright runs an event loop in this thread while it is open, so it
    is closed before tests elsewhere run theirs.
    """
    playwright = pytest.importorskip("playwright.sync_api")
    if BROWSER is None:
        pytest.skip("there is no chromium")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@dataclass
class Look:
    """A page that is looked at; `trouble` is what went wrong in it, `asked` the addresses that it wanted."""

    page: object
    trouble: list = field(default_factory=list)
    asked: list = field(default_factory=list)

    def lit(self, look="lit"):
        """The offsets of the bytes that are lit, or `chosen`."""
        cells = self.page.eval_on_selector_all(f".hex .cells .{look}", "cells => cells.map(cell => cell.dataset.at)")
        return [int(cell.split(":")[1]) for cell in cells]

    def said(self, selector):
        return self.page.text_content(selector)

    def searched(self):
        """Wait until all of the page was searched; without code made of text, which the page refuses."""
        from playwright.sync_api import expect

        expect(self.page.locator("#found .count")).not_to_contain_text("so far")

    def row(self, name, number=0):
        """The row of a field of this name among those that are seen."""
        return self.page.locator(".tree .row").filter(has=self.page.locator(".name", has_text=name)).nth(number)


@pytest.fixture
def look_at(chromium, tmp_path):
    """Write the page of a command and open it; all went well in it, and it asked for nothing but itself, at the end
    too.
    """
    opened = []

    def open_(*arguments, width=1400, height=900, scheme="light", text=None):
        file = tmp_path / f"{len(opened)}.html"
        if text is None:
            done = kwire(*arguments, "--format", "html")
            assert done.code in {0, 1}, done.err
            text = done.out
        file.write_text(text, "utf-8")
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        page = context.new_page()
        found = Look(page)
        page.on("pageerror", lambda error: found.trouble.append(str(error)))
        page.on("console", lambda message: found.trouble.append(message.text))
        page.on("request", lambda request: found.asked.append(request.url))
        page.goto(file.as_uri())
        opened.append((context, found, file))
        return found

    yield open_
    for context, found, file in opened:
        assert found.trouble == []
        assert {url.partition("#")[0] for url in found.asked} == {file.as_uri()}
        context.close()
