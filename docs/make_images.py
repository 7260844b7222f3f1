"""Screenshots for the documentation, taken in Chromium.

    python docs/make_images.py [study] [report] [studio]          (default: all)

study    images/study.png: a trial of `sfumato study new --demo`, with ten tokens placed on two classes.
report   images/report.png: the report of a new run of `sfumato demo`.
studio   images/studio.png and studio-disputed.png: the dashboard of a study with simulated people on drawn pictures.

Prints each image, and whether it changed; a failure ends with an error and leaves that image as it was. Needs the
extras `serve`, `report` and `test`, and Chromium. Images have few colors, so that each has less than 200 kB. The
screenshots of the guide are made by `make_guide.py`.
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

from animal_study import write_animal_study  # noqa: E402
from study_server import StudyServer  # noqa: E402

from browser import Person  # noqa: E402

MAX_BYTES = 200_000
WIDTH = 1000


def study(folder: Path) -> Path:
    """A trial with a shape between circle and square, and ten tokens placed on the two."""
    _sfumato(folder, "study", "new", "shapes", "--demo")
    shapes = folder / "shapes"
    practice = {"shape-01", "shape-12"}
    for picture in (shapes / "images").rglob("shape-*"):
        if picture.stem not in practice | {"shape-06"}:
            picture.unlink()
    with StudyServer(shapes) as server, _chromium(height=400) as page:
        person = Person.joins(page, server)
        person.begins()
        for name, times in (("circle", 1), ("square", 4)):
            for _ in range(times):
                page.keyboard.press(person.key_of(name))
        return save_image(page.screenshot(), "study")


def studio(folder: Path) -> list[Path]:
    """The dashboard: its first panels, and the most disputed items."""
    write_animal_study(folder / "study")
    truth = ["--truth", str(folder / "study" / "truth.parquet"), "--seed", "1"]
    with StudyServer(folder / "study") as server, _chromium(height=1180) as page:
        _sfumato(folder, "simulate", "study", "--url", server.url, "--annotators", "42", "--dropouts", "0.1", *truth)
        page.goto(re.findall(r"works once: (\S+)", server.log.read_text())[-1])
        page.locator('[data-name="enter"]').click()
        page.locator("#disputed img").last.wait_for(state="attached", timeout=120_000)
        page.locator("#disputed img").evaluate_all(
            "images => Promise.all(images.map((image) => { image.loading = 'eager'; return image.decode(); }))"
        )
        whole = save_image(page.screenshot(), "studio")
        # Only four items, to keep the picture small.
        page.locator("#disputed > li:nth-child(n + 5)").evaluate_all("all => all.forEach((each) => each.remove())")
        return [whole, save_image(page.locator("section:has(> #disputed)").screenshot(), "studio-disputed")]


def report(folder: Path) -> Path:
    """The report's section on uncertainty."""
    _sfumato(folder, "demo")
    return of_report(folder / "demo-out" / "report.html")


def of_report(path: Path) -> Path:
    with _chromium(height=930) as page:
        page.goto(f"{path.absolute().as_uri()}#uncertainty")
        page.locator('[data-chart="doubt-parts"][data-drawn]').wait_for(state="attached")
        page.locator("#uncertainty").evaluate("section => section.scrollIntoView()")
        return save_image(page.screenshot(), "report")


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


def save_image(picture: bytes, name: str, n_colors: int = 128) -> Path:
    """Save the picture with few colors in docs/images; it is an error if the file would be too large."""
    path, written = DOCS / "images" / f"{name}.png", io.BytesIO()
    few = Image.open(io.BytesIO(picture)).convert("RGB").quantize(n_colors, dither=Image.Dither.NONE)
    few.save(written, "png", optimize=True)
    if written.tell() >= MAX_BYTES:
        raise SystemExit(f"{name}.png would have {written.tell():,} bytes; expected less than {MAX_BYTES:,}")
    is_same = path.exists() and path.read_bytes() == written.getvalue()
    path.write_bytes(written.getvalue())
    print(f"{path}: {'unchanged' if is_same else 'changed'}")
    return path


MAKERS = {"study": study, "report": report, "studio": studio}


if __name__ == "__main__":
    wanted = sys.argv[1:] or list(MAKERS)
    if unknown := set(wanted) - set(MAKERS):
        raise SystemExit(f"found {', '.join(sorted(unknown))}; expected {', '.join(MAKERS)}")
    for each in wanted:
        with tempfile.TemporaryDirectory() as place:
            MAKERS[each](Path(place))
