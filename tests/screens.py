"""The terminal interface without a terminal: keys are pressed, and what is on the screen is text."""

import asyncio
from contextlib import asynccontextmanager

from kwire_cli.cli.tui import Options, listing_of
from kwire_cli.tui.app import Inspector

HANDLED = 4
"""Rounds in which messages are handled: what a key does is told to the application, the screen, a widget and back."""
ROWS = {"80x24": (80, 24), "200x60": (200, 60)}


def listing(file, **options):
    return listing_of(Options(source=str(file), **options))


def read(file, **options):
    """A listing that was read to its end."""
    found = listing(file, **options)
    for _ in found.read():
        pass
    return found


def strips(app):
    return app.screen._compositor.render_strips()


def screen(app):
    """The text on the screen."""
    return "".join(f"{strip.text.rstrip()}\n" for strip in strips(app))


async def settled(pilot):
    """When nothing is being read or looked at any more. A pause of no time lets all messages be handled that are there;
    one without a time would also sleep until the process is idle.
    """
    app = pilot.app
    for _ in range(HANDLED):
        await pilot.pause(0)
    while (
        app.share is not None
        or app.filter_share is not None
        or app._settling is not None
        or not all(worker.is_finished for worker in app.workers)
    ):
        await pilot.pause(0.005)
    app._tell()
    await pilot.pause(0)


@asynccontextmanager
async def opened(file, size=(100, 30), filter_text="", **options):
    """A pilot of the application that shows a file, once all of it was read."""
    found = listing(file, **options)
    app = Inspector(found, str(file), filter_text)
    app.animation_level = "none"
    app.NOTIFICATION_TIMEOUT = 3600  # no message goes before it was looked at
    try:
        async with app.run_test(size=size) as pilot:
            await settled(pilot)
            yield pilot
    finally:
        found.close()


async def press(pilot, *keys):
    for key in keys:
        pilot.app.simulate_key(key)  # the pilot's own way sleeps twice until the process is idle
        await settled(pilot)


async def say(pilot, key, text):
    """Open the prompt by its key and answer."""
    await press(pilot, key)
    pilot.app.prompt.value = text
    await press(pilot, "enter")


def run(steps):
    return asyncio.run(steps)
