"""The pictures in the documents, taken in a real Chromium from a study that is served and a report that was made.

    python docs/make_images.py [study] [report] [studio]          (study and report if none is named)

study    images/study.png: `sfumato study new --demo`, served, and a trial in which somebody in doubt placed ten tokens.
report   images/report.png: the report of `sfumato demo`, in demo-out; what an earlier demo left there is used.
studio   images/studio.png and studio-disputed.png: the researcher's page of a study with simulated people, about
         pictures of CIFAR-10 that people doubt most and others; needs SFUMATO_DATA.

Needs the extras `serve`, `report` and `test`, and Chromium. Pictures have few colors, to stay under 200 kB each. Those
of the guide are made by `make_guide.py`.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests" / "support"))

from cifar_study import write_cifar_study  # noqa: E402
from study_server import StudyServer  # noqa: E402

from browser import Person  # noqa: E402

MOST_BYTES = 200_000
WIDTH = 1000


def study(folder: Path) -> Path:
    """A picture of a trial: a shape between circle and square, and ten tokens over the two."""
    _sfumato(folder, "study", "new", "shapes", "--demo")
    shapes = folder / "shapes"
    practised = {"shape-01", "shape-12"}
    for picture in (shapes / "images").rglob("shape-*"):
        if picture.stem not in practised | {"shape-06"}:
            picture.unlink()
    with StudyServer(shapes) as server, _chromium(height=400) as page:
        person = Person.joins(page, server)
        person.begins()
        for name, times in (("circle", 1), ("square", 4)):
            for _ in range(times):
                page.keyboard.press(person.key_of(name))
        return kept(page.screenshot(), "study")


def studio(folder: Path) -> list[Path]:
    """Pictures of the researcher's page: its first panels, and the items disputed most."""
    write_cifar_study(folder / "study")
    truth = ["--truth", str(folder / "study" / "truth.parquet"), "--seed", "1"]
    with StudyServer(folder / "study") as server, _chromium(height=1180) as page:
        _sfumato(folder, "simulate", "study", "--url", server.url, "--annotators", "42", "--dropouts", "0.1", *truth)
        page.goto(re.findall(r"works once: (\S+)", server.log.read_text())[-1])
        page.locator("#disputed img").last.wait_for(state="attached", timeout=120_000)
        page.locator("#disputed img").evaluate_all(
            "images => Promise.all(images.map((image) => { image.loading = 'eager'; return image.decode(); }))"
        )
        whole = kept(page.screenshot(), "studio")
        # Four are enough to see what is shown, and small enough.
        page.locator("#disputed > li:nth-child(n + 5)").evaluate_all("all => all.forEach((each) => each.remove())")
        return [whole, kept(page.locator("section:has(> #disputed)").screenshot(), "studio-disputed")]


def report(folder: Path) -> Path:
    """A picture of the report's section on uncertainty."""
    _sfumato(folder, "demo")
    return of_report(folder / "demo-out" / "report.html")


def of_report(path: Path) -> Path:
    with _chromium(height=930) as page:
        page.goto(f"{path.absolute().as_uri()}#what-the-doubt-is-made-of")
        page.locator('[data-chart="doubt-parts"][data-drawn]').wait_for(state="attached")
        page.locator("#what-the-doubt-is-made-of").evaluate("section => section.scrollIntoView()")
        return kept(page.screenshot(), "report")


def _sfumato(folder: Path, *command: str) -> None:
    line = [sys.executable, "-m", "sfumato", *command]
    subprocess.run(line, cwd=folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


@contextmanager
def _chromium(height: int) -> Iterator[Page]:
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=arguments)
        size = ViewportSize(width=WIDTH, height=height)
        yield browser.new_context(viewport=size, device_scale_factor=1.5, reduced_motion="reduce").new_page()
        browser.close()


def kept(picture: bytes, name: str, n_colours: int = 128) -> Path:
    """The picture with few colors in the documents' folder; what is still too large is an error."""
    path = DOCS / "images" / f"{name}.png"
    few = Image.open(io.BytesIO(picture)).convert("RGB").quantize(n_colours, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    assert path.stat().st_size < MOST_BYTES, f"{path} has {path.stat().st_size:,} bytes"
    return path


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["study", "report"]
    if "study" in wanted:
        with tempfile.TemporaryDirectory() as place:
            print(study(Path(place)))
    if "report" in wanted:
        print(report(DOCS.parent))
    if "studio" in wanted:
        with tempfile.TemporaryDirectory() as place:
            print(*studio(Path(place)))
