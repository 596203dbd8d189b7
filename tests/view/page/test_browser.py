"""The page in a real browser: tabs, brush, filter, order, keys, bytes; room for everything at every width."""

import json

import pytest
from kit.commands import ROOT, kwire
from kit.views import bytes_of, column, nodes_of, page_data

pytestmark = pytest.mark.browser
CAPTURE = "samples/incidents/rebalancing.pcap"
TRANSACTIONS = "samples/incidents/waiting-for-markers.pcap"
REPORT = ("report", CAPTURE)
TABS = ["findings", "groups", "sequence", "frames", "costs", "clients"]
WIDTHS = (390, 768, 1280, 1920)


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def data(pages):
    """What is in the page of the report."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(ROOT)
        return page_data(pages(*REPORT).read_text("utf-8"))


def chosen_by(look):
    """The number of rows that the page says are chosen."""
    return int(look.text("#count").split()[0].replace(",", ""))


def drag(look, start, end):
    """Drag over shares of the axis."""
    box = look.page.locator("#brush").bounding_box()
    middle = box["y"] + 30
    look.page.mouse.move(box["x"] + start * box["width"], middle)
    look.page.mouse.down()
    look.page.mouse.move(box["x"] + end * box["width"], middle, steps=4)
    look.page.mouse.up()
    look.page.wait_for_function("() => location.hash.includes('window=')")


def test_each_tab_shows_what_its_command_found(look_at):
    look = look_at(*REPORT)
    assert look.tabs() == TABS
    assert look.page.locator(".card").count() == 2
    look.open_tab("groups")
    assert look.page.locator(".lane.part").count() == 2
    assert look.page.locator(".gapp").count() >= 3
    look.open_tab("sequence")
    assert look.text(".thead.seq").count("worker-1") == 1
    look.open_tab("frames")
    assert look.frames()[:3] == [1, 3, 5]
    look.open_tab("costs")
    assert "100.0 % of all frames" in look.text(".crumbs")
    look.open_tab("clients")
    assert "kafka-python 3.0.12" in look.text(".answer")
    assert "transactions" in look_at("report", TRANSACTIONS).tabs()


def test_costs_add_up_to_all_bytes(look_at):
    look = look_at(*REPORT, hash_="#tab=costs")
    look.page.wait_for_selector(".ice button")
    total = sum(json.loads(line)["size"] for line in kwire("decode", CAPTURE, "-f", "jsonl").out.splitlines())
    title = look.page.get_attribute(".ice button", "title")
    assert title == f"All bytes: {total / 1024:.1f} KiB, 100.0 %"
    look.page.click(".ice button[title^='Fetch:']")
    assert look.text(".crumbs b") == "Fetch"
    assert "path=Fetch" in look.page.url


def test_a_window_filters_everything_below(look_at, data):
    look = look_at(*REPORT)
    drag(look, 0.55, 0.75)
    assert 0 < chosen_by(look) < 166
    assert "1 rebalance" in look.text("#said")
    said = look.text("#said")
    look.open_tab("frames")
    first, last = (float(at) for at in look.page.url.split("window=")[1].split("&")[0].split("-"))
    inside = [
        request
        for request, time, took in zip(*(column(data, name) for name in ("request", "time", "latency_us")), strict=True)
        if time / 1e6 + (took or 0) / 1e6 >= first and time / 1e6 <= last
    ]
    assert chosen_by(look) == len(inside)
    assert look.frames()[0] == inside[0]
    look.open_tab("groups")
    assert look.page.locator(".grp tbody tr").count() == 1
    again = look_at(*REPORT, hash_=look.page.url[look.page.url.index("#") :])  # the address keeps the view
    assert again.text("#said") == said
    assert again.page.get_attribute("#tab-groups", "aria-selected") == "true"
    look.page.keyboard.press("Escape")
    assert chosen_by(look) == 166


def test_the_axis_of_all_rows_is_the_one_that_kwire_counted(look_at):
    look = look_at(*REPORT)
    counted = look.text("#said")
    look.filter("size > 0")  # all rows: the page counts by itself
    assert look.text("#said") == counted


FILTERS = (
    "api == Fetch",
    "error",
    "api in (JoinGroup, SyncGroup) and errors == MEMBER_ID_REQUIRED",
    "not api == Heartbeat and latency > 20ms",
    "client ~ 'worker-[12]' and (topic == payments or group == payment-workers)",
    "frame >= 100 and frame < 140",
    "time >= 00:16:20 and time < 00:16:21",
    "stream == 3 or client == setup",
    "api not in (Fetch, Produce) and not has error",
    "correlation_id == 4",
)


def test_filters_choose_what_kwire_chooses(look_at):
    look = look_at(*REPORT, hash_="#tab=frames")
    for text in FILTERS[:-1]:
        lines = map(json.loads, kwire("decode", CAPTURE, "-f", "jsonl", "--filter", text).out.splitlines())
        expected = {line.get("requestFrame", line["frame"]) for line in lines}
        if text.endswith("not has error"):  # of a call without error both halves have none
            failed = map(json.loads, kwire("decode", CAPTURE, "-f", "jsonl", "--filter", "error").out.splitlines())
            expected -= {line["requestFrame"] for line in failed}
        look.filter(text)
        assert expected, text
        assert chosen_by(look) == len(expected), text
        assert {*look.frames()} <= expected, text


FIELDS = (
    "body.topics.name == payments",
    ".memberId ~ worker",
    "header.correlationId == 4 and api == Metadata",
    "body.errorCode == 79",
    "has body.groupId and body.sessionTimeoutMs >= 10000",
    ".allowAutoTopicCreation == true",
)


def test_filters_by_fields_choose_what_kwire_chooses(look_at):
    look = look_at(*REPORT, hash_="#tab=frames")
    for text in FIELDS:
        lines = map(json.loads, kwire("decode", CAPTURE, "-f", "jsonl", "--filter", text).out.splitlines())
        expected = {line.get("requestFrame", line["frame"]) for line in lines}
        look.filter(text)
        look.page.wait_for_function("() => !document.querySelector('#count').textContent.includes('reading')")
        assert expected, text
        assert chosen_by(look) == len(expected), text
        assert "without fields" not in look.text("#count")
    for text, said in (
        ("body.errorCode == MEMBER_ID_REQUIRED", "is a number"),
        ("body.topics[].name == x", "no message"),
    ):
        look.filter(text)
        assert said in look.text("#count")


def test_a_page_without_fields_names_the_command_that_has_them(look_at):
    look = look_at("report", "samples/request-logs/kafka-request.log", hash_="#tab=frames")
    look.filter("body.topics.name == a")
    command = "kwire decode samples/request-logs/kafka-request.log --filter 'body.topics.name == a'"
    assert look.text("#count").endswith(f" without fields here: {command}")


def test_a_filter_that_is_wrong_is_said(look_at):
    look = look_at(*REPORT, hash_="#tab=frames")
    look.filter(FILTERS[-1])
    assert look.page.locator("#filter.wrong").count() == 1
    assert "no column correlation_id" in look.text("#count")


def test_rows_sort_and_columns_are_chosen(look_at, data):
    look = look_at(*REPORT, hash_="#tab=frames")
    look.page.click(".thead .c-served_us button")
    shown = look.page.locator(".row.frames:not([hidden]) .c-served_us").first
    slowest = max(filter(None, column(data, "served_us")))
    assert shown.text_content() == f"{slowest / 1e6:.2f} s"
    look.page.click(".thead .c-served_us button")
    assert look.page.get_attribute(".thead .c-served_us", "aria-sort") == "ascending"
    look.page.click(".chooser")
    look.page.check(".choices label:has-text('Software') input")
    assert look.page.locator(".thead .c-software").count() == 1
    look.page.uncheck(".choices label:has-text('What') input")
    assert look.page.locator(".thead .c-what").count() == 0


def test_a_page_has_35_rows_in_900_pixels(look_at):
    look = look_at(*REPORT, width=1440, hash_="#tab=frames")
    rows = look.page.eval_on_selector(".rows", "rows => rows.clientHeight / 20")
    assert rows >= 34.9


def test_a_field_lights_its_bytes_and_a_byte_its_field(look_at, data):
    look = look_at(*REPORT, hash_="#tab=frames&row=1")
    look.page.wait_for_selector(".fields .field")
    entry = data["entries"][column(data, "asked_at")[1]]
    nodes = [*nodes_of(entry)]
    rows = look.page.locator(".fields .field")
    assert rows.count() == len(nodes)
    for at, (_, _, _, _, (start, _, end), _) in enumerate(nodes):
        rows.nth(at).hover()
        assert look.page.locator(".hex .lit").count() == 2 * (end - start)
    leaf = next(at for at, node in enumerate(nodes) if node[1] == "clientId")
    look.page.locator(".hex span span", has_text="73").first.hover()  # the first letter of setup
    assert rows.nth(leaf).get_attribute("class").split()[-1] == "lit"


def test_hex_json_path_and_command_are_copied(look_at, data):
    look = look_at(*REPORT, hash_="#tab=frames&row=1")
    look.page.wait_for_selector(".fields .field")
    copied = "navigator.clipboard.readText()"
    [buffer, *_] = data["entries"][column(data, "asked_at")[1]]["buffers"]
    look.page.click(".tools button:has-text('Copy hex')")
    assert look.page.evaluate(copied) == bytes_of(buffer).hex()
    look.page.click(".tools button:has-text('JSON')")
    document = json.loads(look.page.evaluate(copied))
    [frame] = [json.loads(line) for line in kwire("decode", CAPTURE, "-f", "jsonl", "--frames", "3-3").out.splitlines()]
    assert document["body"] == frame["body"]
    assert document["header"]["clientId"] == "setup"
    look.page.locator(".fields .field", has_text="allowAutoTopicCreation").hover()
    look.page.click(".tools button:has-text('Path')")
    assert look.page.evaluate(copied) == "body.allowAutoTopicCreation"
    look.page.click(".tools button:has-text('Command')")
    command = look.page.evaluate(copied)
    assert command == f"kwire decode {CAPTURE} --frames 3-3 -f hex"
    assert kwire(*command.split()[1:]).code == 0


def test_keys_move_open_and_find_errors(look_at):
    look = look_at(*REPORT)
    press = look.page.keyboard.press
    press("j")
    press("j")
    assert look.page.evaluate("document.activeElement.matches('.card:nth-child(2)')")
    press("e")
    assert look.page.locator(".opened .tools").count() == 1
    assert "MEMBER_ID_REQUIRED" in look.text(".row.on")
    first = look.page.url
    press("e")
    assert look.page.url != first
    press("E")
    assert look.page.url == first
    press("Escape")
    assert look.page.locator(".opened").count() == 0
    press("/")
    assert look.page.evaluate("document.activeElement.id") == "filter"
    look.page.keyboard.type("worker-2")
    look.page.wait_for_function("() => location.hash.includes('worker-2')")
    press("Escape")
    press("Escape")
    assert chosen_by(look) == 166
    before = look.page.get_attribute("html", "data-theme")
    press("t")
    assert look.page.get_attribute("html", "data-theme") != before
    press("2")
    assert look.page.get_attribute("#tab-groups", "aria-selected") == "true"
    press("?")
    assert look.page.locator("#help[open]").count() == 1


def test_evidence_leads_to_its_frame(look_at):
    look = look_at(*REPORT)
    look.page.click(".card a")
    assert look.page.get_attribute("#tab-frames", "aria-selected") == "true"
    assert look.text(".row.on .c-frame") == "118"
    look.page.go_back()
    assert look.page.get_attribute("#tab-findings", "aria-selected") == "true"


# What is cut, and what lies over something else.
CROWDED = """() => {
    const shown = [...document.querySelectorAll(
        "#file, #verdict, #facts li, #head button, #said, #tabs button, #filter, #count, .thead > span, .rows, " +
        ".card h2, .card p, .card .sev, .card a, .lane > .name, #scale span, .lname:not(.short), .crumbs, .answer h2"
    )].filter(one => one.checkVisibility() && one.getClientRects().length);
    const box = one => one.getBoundingClientRect();
    const wrong = [];
    for (const one of shown) {
        const { left, right } = box(one);
        if ((left < -1 || right > innerWidth + 1) && !one.closest("#tabs, .wide, .table")) wrong.push("beyond: " + one.textContent);
        if (one.matches("#file, #verdict, #said, .card h2, .card p") && one.scrollWidth > one.clientWidth + 1)
            wrong.push("cut: " + one.textContent);
    }
    for (const [n, one] of shown.entries()) for (const other of shown.slice(n + 1)) {
        if (one.contains(other) || other.contains(one)) continue;
        const [a, b] = [box(one), box(other)];
        const [x, y] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
        const isScrolled = one.closest("#view") && other.closest("#bar, #head, #axis") || other.closest("#view") && one.closest("#bar, #head, #axis");
        if (x > 2 && y > 2 && !isScrolled) wrong.push(`over: ${one.textContent} | ${other.textContent}`);
    }
    if (document.documentElement.scrollWidth > innerWidth) wrong.push("the page scrolls to the side");
    return wrong.map(text => text.slice(0, 120));
}"""  # noqa: E501


def resize(look, width):
    """Change the width of the window, and wait until the page is drawn again."""
    look.page.set_viewport_size({"width": width, "height": 844 if width < 500 else 900})
    look.page.wait_for_timeout(50)


def look_at_each_width(look, tab, widths=WIDTHS):
    """Assert that nothing is cut or covered in the open tab."""
    for width in widths:
        resize(look, width)
        assert look.page.evaluate(CROWDED) == [], (tab, width)


@pytest.mark.parametrize("capture", [CAPTURE, TRANSACTIONS])
def test_there_is_room_for_everything(look_at, capture):
    look = look_at("report", capture)
    for tab in look.tabs():
        look.open_tab(tab)
        look_at_each_width(look, tab)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_there_is_room_for_everybody(look_at, scheme):
    """Screen readers, keys and weak eyes: axe finds no fault at any width in any theme."""
    for capture, tabs in ((CAPTURE, None), (TRANSACTIONS, ["transactions"])):  # other tabs are in both
        look = look_at("report", capture, scheme=scheme)
        for tab in tabs or look.tabs():
            look.open_tab(tab)
            for width in WIDTHS:
                resize(look, width)
                assert look.violations() == [], (tab, width)


SHOWN = """() => {
    const view = document.querySelector("#view");
    return view.textContent.trim().length > 20 || view.querySelector("img");
}"""

PAGES = [
    ("diagnose", CAPTURE),
    ("groups", CAPTURE),
    ("stats", CAPTURE, "--every", "1s"),
    ("overhead", CAPTURE),
    ("sequence", "samples/incidents/sasl.pcap"),
    ("diff", "MetadataResponse", "9", "12"),
    ("dump", "samples/logs"),
    ("report", "samples/request-logs/kafka-request.log"),
]


@pytest.mark.parametrize("arguments", PAGES, ids=" ".join)
def test_pages_of_other_commands_have_their_tabs(look_at, arguments):
    look = look_at(*arguments, width=390, scheme="dark")
    assert look.tabs()
    for tab in look.tabs():
        look.open_tab(tab)
        look.page.wait_for_function(SHOWN)
        look_at_each_width(look, tab, (1280, 390))
        is_seen = arguments[0] == "report" and tab in TABS  # whose contrast the test above looks at
        assert look.violations(contrast=not is_seen) == [], tab


def test_tables_sort(look_at):
    look = look_at("stats", CAPTURE)
    head = look.page.locator("th button", has_text="requests").first
    head.click()
    counts = [
        int(cell) for cell in look.page.locator("table", has=head).first.locator("td:nth-child(2)").all_inner_texts()
    ]
    assert counts == sorted(counts, reverse=True)
    assert len(counts) > 5


def test_a_printed_page_has_all_of_one_tab(look_at):
    look = look_at(*REPORT)
    look.page.emulate_media(media="print")
    assert (
        look.page.eval_on_selector_all("#tabs button", "tabs => tabs.filter(tab => tab.checkVisibility()).length") == 1
    )
    assert not look.page.is_visible("#search")
    last = look.page.locator(".card").last.bounding_box()
    assert last["y"] + last["height"] <= look.page.evaluate("document.documentElement.scrollHeight")
    assert look.page.eval_on_selector("#view", "view => getComputedStyle(view).overflow") == "visible"
    assert look.page.pdf().startswith(b"%PDF")


def test_hostile_names_are_text(look_at, tmp_path):
    capture = tmp_path / "<b>hostile.pcap"
    capture.write_bytes((ROOT / CAPTURE).read_bytes().replace(b"payment-workers", b"<img onerror=1>"))
    look = look_at("report", capture)
    assert "<b>hostile.pcap" in look.page.title()
    for tab in look.tabs():
        look.open_tab(tab)
        assert look.page.locator("img, #file b").count() == 0
    look.open_tab("groups")
    assert look.text(".grp h2") == "<img onerror=1>"


def test_what_is_not_of_the_page_can_not_run_nor_load(look_at):
    look = look_at(*REPORT)
    look.page.evaluate(
        """() => {
            const script = document.createElement("script"); script.textContent = "document.title = 'run'"; document.body.append(script);
            const image = document.createElement("img"); image.src = "https://example.com/x"; document.body.append(image);
        }"""  # noqa: E501
    )
    assert look.page.title() != "run"
    assert len(look.trouble) == 2
    assert all("Content Security Policy" in text for text in look.trouble)
    look.trouble.clear()
    look.asked.remove("https://example.com/x")  # what was wanted, and refused


def test_only_rows_that_are_seen_are_made(look_at, data):
    look = look_at(*REPORT, hash_="#tab=frames")
    assert look.page.locator(".row.frames").count() < 60
    look.page.eval_on_selector(".rows", "rows => { rows.scrollTop = 1e6 }")
    look.page.wait_for_function("() => document.querySelector('.rows').scrollTop > 0")
    look.page.wait_for_timeout(100)
    last = max(filter(None, column(data, "request")))
    assert look.frames()[-1] == last
    assert look.page.get_attribute(".rows", "aria-label") == "Calls"
    assert look.page.get_attribute(".table", "aria-rowcount") == "167"
