"""The guide's pictures, what its commands print and how long they take, from one walk through it in a real Chromium.

    python docs/make_guide.py

Writes images/guide-*.png, and into guide.md the output of each command and the table of seconds. Needs the extras
`serve` and `test`, and Chromium; the seconds mean something on a machine that has nothing else to do.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from PIL import Image
from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).parent
for each in ("tests/support", "bench", "docs"):
    sys.path.insert(0, str(DOCS.parent / each))

from make_images import kept  # noqa: E402
from pilot import GUIDE, SESSION, Pilot, as_process, typed_in  # noqa: E402

import pages  # noqa: E402

SCALE = 1.5
SIZE = {"width": 900, "height": 566}
TRIAL_HEIGHT = 400
WAY_IN = ("consent", "instructions", "comprehension", "feedback")
GAP = 24
MOST_COLOURS = 256
BEHIND = "#cfcbc0"


class Album:
    """Pictures of the pages that the walk shows."""

    def __init__(self) -> None:
        self.taken: dict[str, bytes] = {}

    def look(self, page: Page, name: str) -> None:
        if name != "studio":
            if name in ("feedback", "trial"):
                page.locator("#saved").get_by_text("All answers saved").wait_for()
            height = TRIAL_HEIGHT if name == "trial" else SIZE["height"]
            self.taken[name] = page.screenshot(clip={"x": 0, "y": 0, "width": SIZE["width"], "height": height})
            return
        page.set_viewport_size({"width": 1000, "height": 1000})
        page.locator("#disputed img").evaluate_all(
            "images => Promise.all(images.map((image) => { image.loading = 'eager'; return image.decode(); }))"
        )
        page.evaluate("scrollTo(0, 0)")
        panel = page.locator("section:has(> #times-chart)").bounding_box()
        assert panel is not None
        below = panel["y"] + panel["height"] + 10
        self.taken["studio"] = page.screenshot(clip={"x": 0, "y": 0, "width": 1000, "height": below})
        self.taken["people"] = page.locator("section:has(#people)").screenshot()
        # Four are enough to see what is shown, and small enough.
        page.locator("#disputed > li:nth-child(n + 5)").evaluate_all("all => all.forEach((each) => each.remove())")
        self.taken["disputed"] = page.locator("section:has(> #disputed)").screenshot()

    def keep(self) -> list[Path]:
        four = [Image.open(io.BytesIO(self.taken[name])) for name in WAY_IN]
        single = [
            kept(self.taken[name], f"guide-{name}", MOST_COLOURS) for name in ("trial", "studio", "people", "disputed")
        ]
        return [kept(beside(four), "guide-pages", MOST_COLOURS), *single]


def beside(four: Sequence[Image.Image]) -> bytes:
    """Four pictures as one, two in a row, at two thirds of their size."""
    width, height = (2 * side // 3 for side in four[0].size)
    sheet = Image.new("RGB", (2 * width + 3 * GAP, 2 * height + 3 * GAP), BEHIND)
    for number, picture in enumerate(four):
        place = (GAP + (number % 2) * (width + GAP), GAP + (number // 2) * (height + GAP))
        sheet.paste(picture.convert("RGB").resize((width, height), Image.Resampling.LANCZOS), place)
    stream = io.BytesIO()
    sheet.save(stream, "png")
    return stream.getvalue()


def written_out(guide: str, said: dict[str, str]) -> str:
    """The guide with what each command printed below it; addresses as they usually are, and no keys."""

    def session(found: re.Match[str]) -> str:
        commands = [typed.command for typed in typed_in(found[0])]
        return "```text\n" + "".join(f"$ {each}\n{_plain(said[each])}" for each in commands) + "```"

    return SESSION.sub(session, guide)


def _plain(said: str) -> str:
    said = re.sub(r"http://127\.0\.0\.1:\d+", "http://127.0.0.1:8000", said)
    return re.sub(r"(/studio/enter/)\S+", r"\1…", said)


def seconds_table(seconds: dict[str, float]) -> str:
    """How long each step took the machine; people's are of a program."""
    people = [took for what, took in seconds.items() if what.startswith("person")]
    rows = []
    for what, took in seconds.items():
        if what.startswith("sfumato"):
            words = what.split()
            rows.append([f"`{' '.join(words[: 3 if words[1] == 'study' else 2])}`", f"{took:.1f}"])
        elif what == "person 1":
            rows.append([f"{len(people)} people in a browser, played: all of them", f"{sum(people):.1f}"])
            rows.append(["... one of them (median)", f"{median(people):.1f}"])
        elif what == "studio":
            rows.append(["the researcher's page has everybody's answers, flags and disputes; paused", f"{took:.1f}"])
    rows.append(["all of it", f"{sum(seconds.values()):.1f}"])
    rows.append([f"(on {os.cpu_count()} cores, with a load of {os.getloadavg()[0]:.1f}, this included)", ""])
    return pages.markdown(["step", "seconds"], rows)


def main() -> None:
    album = Album()
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=arguments)
        pilot = Pilot(Path(place), chromium, as_process(Path(place)), album.look, SIZE, SCALE)
        pilot.walk()
        chromium.close()
    print(*album.keep(), sep="\n")
    GUIDE.write_text(written_out(GUIDE.read_text(encoding="utf-8"), pilot.said), encoding="utf-8")
    pages.write(GUIDE, "pilot", seconds_table(pilot.seconds))
    print(GUIDE)


if __name__ == "__main__":
    main()
