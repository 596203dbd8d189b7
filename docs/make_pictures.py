"""Pictures of every tab of the page and of the terminal interface, in build/pictures.

`make pictures` runs this. Look at the pictures, and copy those that stand in the documentation to docs/images:
`report.png`, `tui.svg` and `tui-findings.svg`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # which have what drives the terminal interface
TO = ROOT / "build" / "pictures"
INPUTS = {
    "rebalancing": "samples/incidents/rebalancing.pcap",
    "transactions": "samples/incidents/waiting-for-markers.pcap",
    "restart": "samples/incidents/rolling-restart.pcapng.gz",
    "logs": "samples/logs",
}
SIZE = {"width": 1280, "height": 900}


def page_pictures(browser: str) -> None:
    """Make a picture of each tab of a page for each input."""
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        for name, source in INPUTS.items():
            page_file = TO / f"{name}.html"
            subprocess.run(
                [sys.executable, "-m", "kwire_cli", "report", source, "-o", str(page_file)], cwd=ROOT, check=True
            )
            page = running.new_page(viewport=SIZE)
            page.goto(page_file.as_uri())
            for tab in page.eval_on_selector_all("#tabs button", "tabs => tabs.map(tab => tab.id)"):
                page.click(f"#{tab}")
                page.wait_for_timeout(300)
                page.screenshot(path=TO / f"{name}-{tab.removeprefix('tab-')}.png")
        running.close()


def terminal_pictures() -> None:
    """Make a picture of each view of the terminal interface."""
    from kit.views import opened, press, run

    async def steps() -> None:
        async with opened(str(ROOT / INPUTS["rebalancing"]), (140, 40)) as pilot:
            for view in ("1", "2", "3", "4", "5", "6"):
                await press(pilot, view)
                await pilot.app.workers.wait_for_complete()
                await pilot.pause()
                (TO / f"terminal-{view}.svg").write_text(pilot.app.export_screenshot(title="kwire tui"), "utf-8")

    run(steps())


if __name__ == "__main__":
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        sys.exit("there is no chromium")
    TO.mkdir(parents=True, exist_ok=True)
    page_pictures(found)
    terminal_pictures()
    sys.stdout.write(f"{len([*TO.glob('*.png')])} pages and {len([*TO.glob('*.svg')])} terminals in {TO}\n")
