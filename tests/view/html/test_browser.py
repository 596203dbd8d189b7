"""Pages in a real browser: what is pointed at lights up, what is clicked opens, what is searched is found, keys move, a
phone has room for it.
"""

import json
import re
import shutil

import pytest
from kit.commands import ROOT, kwire
from kit.logs import committed
from kit.traffic import Wire
from kit.views import entries, page as parsed_page, rows_of

import kwire_cli
from kwire_cli.view.html.page import histogram, report

pytestmark = pytest.mark.browser
CAPTURE = "samples/captures/kafka-python-4.4.0.pcapng"
RECORDS = "samples/frames/fetch-v18-response.hex"
PHONE = {"width": 360, "height": 740}


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def leaf_rows(*arguments, number=0):
    """The fields without others in them, of an entry of a page."""
    rows = rows_of(entries(parsed_page(*arguments))[number])
    inner = [
        row
        for row, below in zip(rows, [*rows[1:], None], strict=True)
        if row["kind"] and (below is None or below["depth"] <= row["depth"])
    ]
    return [row for row in inner if row["buffer"] == 0]


def test_each_field_that_is_pointed_at_lights_its_bytes(look_at):
    look = look_at("decode", "samples/frames/metadata-v0-request.hex")
    (frame,) = kwire_cli.read_frames("samples/frames/metadata-v0-request.hex")
    spans = [span for _, part in frame.parts for span in part.spans]
    assert len(spans) > 5
    for span in spans:
        row = look.page.locator(".tree .row .name", has_text=span.path.split(".")[-1].split("[")[0])
        assert row.count() or span.kind in {"count", "tag-count"}
    rows = look.page.eval_on_selector_all(".tree .row", "rows => rows.map(row => row.dataset.node)")
    shown = rows_of(entries(parsed_page("decode", "samples/frames/metadata-v0-request.hex"))[0])
    assert len(rows) == len(shown)
    for node in rows:
        look.page.hover(f'.tree [data-node="{node}"]')
        start, _, end = shown[int(node)]["place"]
        assert look.lit() == [*range(start, end)]


def test_a_byte_that_is_clicked_opens_its_field(look_at):
    look = look_at("decode", RECORDS)
    fields = leaf_rows("decode", RECORDS)
    look.page.keyboard.press("Home")
    for row in fields[:: max(1, len(fields) // 15)]:
        start, _, end = row["place"]
        if start == end:
            continue
        look.page.evaluate("at => { document.querySelector('.hex').scrollTop = Math.floor(at / 16) * 20 }", start)
        look.page.click(f'.hex .cells [data-at="0:{start}"]')
        assert look.page.locator('.tree [aria-selected="true"]').count() == 1
        assert look.page.locator('.tree [aria-selected="true"] .name').text_content() == row["name"]
        seen = set(look.lit("chosen"))
        assert start in seen
        assert seen <= {*range(start, end)}
        if row["path"]:
            assert look.said("#status strong") == row["path"]


def test_a_byte_that_is_pointed_at_lights_its_field(look_at):
    look = look_at("decode", "samples/frames/metadata-v0-request.hex")
    look.page.hover('.hex .cells [data-at="0:6"]')
    assert look.said(".tree .row.lit .name") == "requestApiVersion"
    assert look.lit() == [6, 7]


def test_search_finds_values_paths_and_offsets_in_all_frames(look_at):
    look = look_at("decode", CAPTURE)
    look.page.keyboard.press("/")
    look.page.keyboard.type("kp-consumer")
    look.page.wait_for_selector("#found .hit")
    look.searched()
    lines = [json.loads(line) for line in kwire("decode", CAPTURE, "--format", "jsonl").out.splitlines()]
    wanted = [line["frame"] for line in lines if line.get("header", {}).get("clientId") == "kp-consumer"]
    hits = look.page.eval_on_selector_all(
        "#found .hit", "hits => hits.map(hit => [hit.children[0].textContent, hit.children[1].textContent])"
    )
    assert [int(number) for number, place in hits if place == "header.clientId"] == wanted
    look.page.keyboard.press("Enter")
    look.page.keyboard.press("Enter")
    assert look.page.locator("#found .hit.chosen").count() == 1
    look.page.fill("#search", "topics[0].partitions[0]")
    look.page.wait_for_selector("#found .hit >> text=topics[0].partitions[0]")
    look.page.fill("#search", "@4")
    look.page.wait_for_selector("#found .hit >> text=byte 4")
    look.page.keyboard.press("Enter")
    assert 4 in look.lit("chosen")
    look.page.keyboard.press("Escape")
    assert look.page.locator("#found").is_hidden()


def test_search_counts_a_place_once(look_at):
    look = look_at("decode", CAPTURE)
    for wanted in ("kp-consumer", "kp", "Metadata", "18"):
        look.page.fill("#search", wanted)
        look.page.wait_for_selector("#found .hit")
        look.searched()
        hits = look.page.eval_on_selector_all(
            "#found .hit", "hits => hits.map(hit => [hit.children[0].textContent, hit.children[1].textContent])"
        )
        rows = [number for number, place in hits if not place]
        assert len(rows) == len(set(rows))
        assert {number for number, place in hits if place}.isdisjoint(rows)
    look.page.fill("#search", "kp-consumer")
    look.searched()
    look.page.keyboard.press("Enter")
    assert look.said("#status strong") == "header.clientId"


def test_a_page_says_in_its_title_when_frames_are_left_out(look_at):
    whole = look_at("decode", CAPTURE)
    assert "only" not in whole.page.title() + whole.said("header")
    part = look_at("decode", CAPTURE, "--top", "5")
    assert part.page.title().endswith("(the first 5 frames only)")
    assert "the first 5 frames only, more with --frames 6-" in part.said("header .facts")


def test_keys_go_through_frames_fields_and_views(look_at):
    look = look_at("decode", CAPTURE)
    look.page.keyboard.press("n")
    assert look.said(".list .row.chosen .number") == "2"
    assert look.page.url.endswith("#2")
    look.page.keyboard.press("p")
    assert look.said(".list .row.chosen .number") == "1"
    look.page.focus(".tree")
    look.page.keyboard.press("Home")
    assert look.said('.tree [aria-selected="true"] .name') == "size"
    look.page.keyboard.press("ArrowLeft")
    assert look.page.get_attribute('.tree [aria-selected="true"]', "aria-expanded") == "false"
    look.page.keyboard.press("ArrowDown")
    assert look.said('.tree [aria-selected="true"] .name') == "header"
    look.page.keyboard.press("ArrowRight")
    assert look.said('.tree [aria-selected="true"] .name') == "requestApiKey"
    look.page.keyboard.press("2")
    assert look.page.locator(".icicle .part").count() > 5
    look.page.keyboard.press("3")
    assert look.page.locator(".points .point.response").count() > 5
    look.page.keyboard.press("?")
    assert look.page.locator("#help").is_visible()
    look.page.keyboard.press("Escape")
    assert look.page.locator("#help").is_hidden()


def test_a_point_in_time_is_its_frame(look_at):
    look = look_at("decode", CAPTURE)
    look.page.keyboard.press("3")
    point = look.page.locator(".points .point.response").last
    name = point.locator("title").text_content()
    point.click(force=True)
    assert look.said(".list .row.chosen .number") == name.split()[0]


def test_anomalies_are_a_list_that_jumps_to_the_bytes(look_at):
    file = "samples/segments/bitflip-0/00000000000000000000.log"
    look = look_at("dump", file)
    lines = [json.loads(line) for line in kwire("dump", file, "--deep", "--format", "jsonl").out.splitlines()]
    notes = [(line["position"], note) for line in lines for note in line["anomalies"]]
    assert notes
    for number, (position, note) in enumerate(notes[:5]):
        look.page.keyboard.press("4")
        assert look.page.locator("[data-odd]").count() == len(notes)
        row = look.page.locator(f'[data-odd="{number}"]')
        assert note["code"] in row.text_content()
        row.click()
        assert look.page.url.endswith(f"#{position}")
        assert look.said("#status strong") == note["path"]
        assert note["offset"] - position in look.lit("chosen")


@pytest.mark.parametrize("codec", [0, 1])
def test_anomalies_of_records_in_messages_jump_to_their_bytes(look_at, tmp_path, codec):
    file = tmp_path / "produce.hex"
    file.write_text(Wire.produce(committed(0, b"xx", codec=codec), "__consumer_offsets").hex())
    look = look_at("decode", file)
    look.page.keyboard.press("4")
    look.page.click('[data-odd="0"]')
    path = "topicData[0].partitionData[0].records[0].records[1].value"
    assert look.said("#status strong") == path
    cells = look.page.locator('[data-odd="0"] td').all_text_contents()
    assert cells[1:3] == ["TRAILING_BYTES", path]
    assert (cells[3] == "") == bool(codec)
    assert look.page.locator(".hex .cells .chosen").last.text_content() == "78"


@pytest.mark.parametrize(
    "arguments",
    [("decode", CAPTURE), ("dump", "samples/segments/__consumer_offsets-0")],
    ids=lambda arguments: arguments[0],
)
def test_the_icicle_and_the_bars_add_up_to_the_frame(look_at, arguments):
    look = look_at(*arguments)
    look.page.keyboard.press("2")
    for row in entries(parsed_page(*arguments)):
        size = row["buffers"][0]["size"]
        assert look.said(".icicle .part title").endswith(f": {size:,} bytes, 100.0 %")
        kinds = look.page.eval_on_selector_all(
            ".chart-bars td:nth-child(3)", "cells => cells.map(cell => cell.textContent)"
        )
        assert sum(int(text.split()[0].replace(",", "")) for text in kinds) == size
        look.page.keyboard.press("n")


def test_what_is_not_seen_is_not_made(look_at, tmp_path):
    body = kwire_cli.encode(
        {"topics": [{"name": f"topic-{i}"} for i in range(3000)], "allowAutoTopicCreation": True},
        message="MetadataRequest",
        version=4,
    )
    file = tmp_path / "many.hex"
    file.write_text(body.hex())
    look = look_at("decode", file, "--message", "MetadataRequest", "--message-version", "4")
    look.row("topics").locator(".twist").click()
    look.page.focus(".tree")
    look.page.keyboard.press("End")
    assert look.page.locator(".tree .row").count() < 150
    assert look.page.locator(".hex .row").count() < 150
    look.page.fill("#search", "topic-2999")
    look.page.wait_for_selector("#found .hit")
    look.page.keyboard.press("Enter")
    assert look.said("#status strong") == "topics[2999].name"
    assert look.lit("chosen")


def test_requests_and_responses_are_linked_within_their_file(look_at, tmp_path):
    copy = shutil.copy(CAPTURE, tmp_path / "copy.pcapng")
    look = look_at("decode", CAPTURE, copy)
    look.page.focus(".list")
    look.page.keyboard.press("End")
    assert look.page.get_attribute(".list .row.chosen", "data-row") == "103"
    look.page.get_by_role("button", name="answers 51").click()
    assert look.page.get_attribute(".list .row.chosen", "data-row") == "102"
    look.page.get_by_role("button", name="answered by 52").click()
    assert look.page.get_attribute(".list .row.chosen", "data-row") == "103"


def test_a_page_of_nothing_says_so(look_at):
    look = look_at("dump", "samples/segments/orders-zstd-0", "--offsets", "900-")
    assert look.said(".facts") == "0 batches · 0 B"


def test_hostile_names_are_text(look_at, tmp_path):
    hostile = (
        '</script><script>document.title="run"</script><img src="https://example.com/x" onerror="document.title=1">'
    )
    body = kwire_cli.encode(
        {"topics": [{"name": hostile}], "allowAutoTopicCreation": True}, message="MetadataRequest", version=4
    )
    file = tmp_path / "<b>hostile.hex"
    file.write_text(body.hex())
    look = look_at("decode", file, "--message", "MetadataRequest", "--message-version", "4")
    assert "onerror" in look.said(".tree")
    assert look.page.title().endswith("<b>hostile.hex")
    assert look.page.locator("img, b").count() == 0
    look.page.fill("#search", "<img")
    look.page.wait_for_selector("#found .hit")
    assert look.page.locator("img").count() == 0


def test_what_is_not_of_the_page_can_not_run_nor_load(look_at):
    look = look_at("decode", "samples/frames/metadata-v0-request.hex")
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "arguments", [("decode", CAPTURE), ("dump", "samples/segments/garbage-0")], ids=lambda arguments: arguments[0]
)
def test_a_phone_has_room_for_it(look_at, arguments, scheme):
    look = look_at(*arguments, **PHONE, scheme=scheme)
    for view in ("list", "fields", "bytes", "costs", "time", "odd"):
        look.page.click(f"nav [data-view={view}]")
        assert look.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        host = look.page.locator({"list": ".list", "fields": ".tree", "bytes": ".hex"}.get(view, ".charts"))
        assert host.evaluate("host => host.clientHeight > 200 && host.clientWidth > 300")
    look.page.click("nav [data-view=bytes]")
    assert look.page.evaluate("document.querySelector('.hex').scrollWidth <= innerWidth")
    look.page.click('.hex .cells [data-at="0:5"]')
    assert 5 in look.lit("chosen")
    look.page.click("nav [data-view=list]")
    look.page.click('.list [data-row="3"]')
    assert look.page.locator(".tree").is_visible()


SPREAD = "samples/captures/sarama-0.8.2.0-3.9.2.pcapng"
REPORTS = [
    ("overhead", CAPTURE),
    ("compare", "--advise", CAPTURE),
    ("compare", CAPTURE),
    ("diff", "MetadataResponse", "0", "13"),
    ("stats", CAPTURE),
    ("dump", "samples/segments/bitflip-0", "--verify"),
    ("dump", f"samples/{'../samples/' * 12}segments/__consumer_offsets-0", "--state"),
    ("compare", CAPTURE, "--by-field"),
    ("stats", "samples/request-logs/kafka-request.log"),
    ("stats", SPREAD),
]


CUT_OFF = """() => {
  const found = [];
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) found.push(["page", page.scrollWidth]);
  for (const host of document.querySelectorAll(".scroll"))
    if (host.scrollWidth > host.clientWidth + 1 && !host.querySelector(".icicle")) found.push(["table", host.textContent.slice(0, 60)]);
  for (const cell of document.querySelectorAll("td, th, dt, dd"))
    if (cell.offsetParent && cell.scrollWidth > cell.clientWidth + 1) found.push(["cell", cell.textContent]);
  for (const chart of document.querySelectorAll("svg:not(.icicle)")) {
    const room = chart.getBoundingClientRect();
    const labels = [...chart.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]).filter(([, box]) => box.width);
    for (const [i, [text, box]] of labels.entries()) {
      if (box.left < room.left - 1 || box.right > room.right + 1) found.push(["clipped", text]);
      for (const [other, near] of labels.slice(i + 1))
        if (box.left < near.right && near.left < box.right && box.top < near.bottom && near.top < box.bottom) found.push(["overlap", text, other]);
    }
  }
  return found;
}"""  # noqa: E501


@pytest.mark.parametrize(("width", "scheme"), [(PHONE["width"], "dark"), (1440, "light")])
@pytest.mark.parametrize(
    "arguments", REPORTS, ids=lambda arguments: f"{arguments[0]} {arguments[-1].removeprefix('samples/')}"
)
def test_a_report_has_room_for_all_it_says(look_at, arguments, width, scheme):
    look = look_at(*arguments, width=width, scheme=scheme)
    assert look.page.evaluate(CUT_OFF) == []
    assert "[object" not in look.said("main")
    words = kwire(*arguments, "--format", "table" if arguments[0] != "diff" else "text").out.split()
    shown = look.said("main")
    shown += shown.replace(",", "")  # numbers of facts have commas on a page
    assert all(word in shown for word in words if word[0] not in "█▏▎▍▌▋▊▉")


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("count", [1, 10, 60])
def test_a_histogram_has_room_for_every_label(look_at, width, count):
    items = [(f"≤ {5 * 10**number:g} ms", 10 ** min(number, 9)) for number in range(count)]
    look = look_at(text=report("h", [histogram("h", "responses", items)]), width=width)
    assert look.page.evaluate(CUT_OFF) == []
    shown = look.page.evaluate("document.querySelector('main').innerText")
    assert all(name in shown for name, _ in items)


def test_tables_sort_by_what_is_clicked_and_keep_their_total(look_at):
    look = look_at("overhead", CAPTURE)
    table = look.page.locator("table").filter(has=look.page.locator("th", has_text="api")).first

    def column(number):
        return table.locator(f"tbody td:nth-child({number})").all_text_contents()

    sizes = [int(text) for text in column(3)]
    assert sizes[:-1] == sorted(sizes[:-1], reverse=True)
    for _ in range(2):
        table.locator("th").filter(has_text=re.compile("^bytes")).get_by_role("button").click()
    assert [int(text) for text in column(3)] == [*sorted(sizes[:-1]), sizes[-1]]
    assert table.locator("th[aria-sort=ascending]").count() == 1
    table.locator("th", has_text="api").get_by_role("button").click()
    assert column(1) == [*sorted(column(1)[:-1]), "total"]


def test_charts_say_in_text_what_they_show(look_at):
    look = look_at("overhead", CAPTURE)
    titles = look.page.locator(".icicle .part title").all_text_contents()
    total = json.loads(kwire("overhead", CAPTURE, "--format", "json").out)["facts"]["bytes"]
    assert titles[0] == f"all bytes: {total:,} bytes, 100.0 %"
    assert any(title.startswith("ApiVersions: ") for title in titles)
