"""A real browser: Debian's chromium, or another one that is there, without a window."""

import shutil
from dataclasses import dataclass, field
from importlib.resources import files

import pytest
from kit.commands import kwire

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
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

    def text(self, selector):
        return self.page.text_content(selector)

    def open_tab(self, name):
        self.page.click(f"#tab-{name}")
        self.page.wait_for_function("name => location.hash.includes(`tab=${name}`)", arg=name)
        self.page.wait_for_timeout(150)  # details are unpacked, and what follows the pointer is drawn

    def violations(self, *, contrast=True):
        """The rules of accessibility that the page breaks, as axe tells them. Contrast takes most of its time."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE)
        rules = {"color-contrast": {"enabled": contrast}}
        found = self.page.evaluate("rules => axe.run({ rules, resultTypes: ['violations'] })", rules)["violations"]
        return [(each["impact"], each["id"], each["nodes"][0]["html"]) for each in found]

    def tabs(self):
        return self.page.eval_on_selector_all("#tabs button", "tabs => tabs.map(tab => tab.id.slice(4))")

    def filter(self, text):
        self.page.fill("#filter", text)
        self.page.wait_for_function("text => decodeURIComponent(location.hash).includes(text)", arg=text)

    def frames(self):
        """The numbers of the frames in rows that are seen."""
        cells = ".row.frames:not([hidden])"
        rows = "rows => rows.map(row => [row.offsetTop, Number(row.firstChild.textContent)])"
        return [frame for _, frame in sorted(self.page.eval_on_selector_all(cells, rows))]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages that commands write, each once."""
    folder, made = tmp_path_factory.mktemp("pages"), {}

    def page_of(*arguments):
        if arguments not in made:
            made[arguments] = folder / f"{len(made)}.html"
            done = kwire(*arguments, "-o", made[arguments])
            assert done.code in {0, 1}, done.err
        return made[arguments]

    return page_of


@pytest.fixture
def look_at(chromium, pages):
    """Open the page of a command; all went well in it, and it asked for nothing but itself, at the end too."""
    opened = []

    def open_(*arguments, width=1280, height=900, scheme="light", hash_=""):
        file = pages(*arguments)
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        found = Look(page)
        page.on("pageerror", lambda error: found.trouble.append(str(error)))
        page.on("console", lambda message: found.trouble.append(message.text))
        page.on("request", lambda request: found.asked.append(request.url))
        page.goto(file.as_uri() + hash_)
        opened.append((context, found, file))
        return found

    yield open_
    for context, found, file in opened:
        assert found.trouble == []
        wanted = {url.partition("#")[0] for url in found.asked if not url.startswith("data:")}
        assert wanted == {file.as_uri()}
        context.close()
