"""Runs the commands of docs/guide.md, with simulated participants in Chromium, and updates the page.

    python docs/make_guide.py

Writes the screenshots images/guide-*.png and, in guide.md, the output of each command and the table of times. Needs the
extras `serve` and `test`, and Chromium. Run nothing else at the same time, because times are measured.
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

from make_images import save_image  # noqa: E402
from pilot import GUIDE, SESSION, Pilot, as_process, typed_in  # noqa: E402

import pages  # noqa: E402

SCALE = 1.5
SIZE = {"width": 900, "height": 566}
TRIAL_HEIGHT = 400
FIRST_PAGES = ("consent", "instructions", "comprehension", "feedback")
GAP = 24
MAX_COLORS = 256
BACKGROUND = "#cfcbc0"


class Screenshots:
    """Screenshots of the pages that the pilot shows."""

    def __init__(self) -> None:
        self.taken: dict[str, bytes] = {}

    def take(self, page: Page, name: str) -> None:
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
        # Only four items, to keep the picture small.
        page.locator("#disputed > li:nth-child(n + 5)").evaluate_all("all => all.forEach((each) => each.remove())")
        self.taken["disputed"] = page.locator("section:has(> #disputed)").screenshot()

    def save(self) -> list[Path]:
        four = [Image.open(io.BytesIO(self.taken[name])) for name in FIRST_PAGES]
        single = [
            save_image(self.taken[name], f"guide-{name}", MAX_COLORS)
            for name in ("trial", "studio", "people", "disputed")
        ]
        return [save_image(tiled(four), "guide-pages", MAX_COLORS), *single]


def tiled(four: Sequence[Image.Image]) -> bytes:
    """Four pictures in one, two per row, at two thirds of their size."""
    width, height = (2 * side // 3 for side in four[0].size)
    sheet = Image.new("RGB", (2 * width + 3 * GAP, 2 * height + 3 * GAP), BACKGROUND)
    for number, picture in enumerate(four):
        place = (GAP + (number % 2) * (width + GAP), GAP + (number // 2) * (height + GAP))
        sheet.paste(picture.convert("RGB").resize((width, height), Image.Resampling.LANCZOS), place)
    stream = io.BytesIO()
    sheet.save(stream, "png")
    return stream.getvalue()


def with_outputs(guide: str, outputs: dict[str, str]) -> str:
    """The guide with the output below each command, the usual port, and without login keys."""

    def session(found: re.Match[str]) -> str:
        commands = [typed.command for typed in typed_in(found[0])]
        return "```text\n" + "".join(f"$ {each}\n{_without_keys(outputs[each])}" for each in commands) + "```"

    return SESSION.sub(session, guide)


def _without_keys(output: str) -> str:
    output = re.sub(r"http://127\.0\.0\.1:\d+", "http://127.0.0.1:8000", output)
    return re.sub(r"(/studio/enter/)\S+", r"\1…", output)


def seconds_table(seconds: dict[str, float]) -> str:
    """The seconds per step; the participants are simulated."""
    people = [took for what, took in seconds.items() if what.startswith("person")]
    rows = []
    for what, took in seconds.items():
        if what.startswith("sfumato"):
            words = what.split()
            rows.append([f"`{' '.join(words[: 3 if words[1] == 'study' else 2])}`", f"{took:.1f}"])
        elif what == "person 1":
            rows.append([f"{len(people)} simulated participants in a browser, in total", f"{sum(people):.1f}"])
            rows.append(["... per participant (median)", f"{median(people):.1f}"])
        elif what == "studio":
            rows.append(["the dashboard shows all answers, flags and disputed items; pausing", f"{took:.1f}"])
    rows.append(["total", f"{sum(seconds.values()):.1f}"])
    rows.append([f"(on {os.cpu_count()} cores; load average {os.getloadavg()[0]:.1f}, including this run)", ""])
    return pages.markdown(["step", "seconds"], rows)


def main() -> None:
    screenshots = Screenshots()
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=arguments)
        pilot = Pilot(Path(place), chromium, as_process(Path(place)), screenshots.take, SIZE, SCALE)
        pilot.run_guide()
        chromium.close()
    print(*screenshots.save(), sep="\n")
    GUIDE.write_text(with_outputs(GUIDE.read_text(encoding="utf-8"), pilot.outputs), encoding="utf-8")
    pages.write(GUIDE, "pilot", seconds_table(pilot.seconds))
    print(GUIDE)


if __name__ == "__main__":
    main()
