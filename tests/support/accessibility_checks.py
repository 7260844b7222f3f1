"""Accessibility checks of pages: axe-core, overflow and target sizes, in light and dark, on a desktop and a phone.

If SFUMATO_SCREENSHOTS is a folder, a screenshot of every checked page is saved there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SIZES = {"desk": {"width": 1200, "height": 800}, "phone": {"width": 360, "height": 740}}
TWO_WAYS = (("desk", "light"), ("phone", "dark"))
"""For pages that share their parts with others: each size and each color scheme once."""
ALL_WAYS = tuple(product(SIZES, ("light", "dark"))) if "SFUMATO_SEEDS" in os.environ else TWO_WAYS
"""All combinations in the long runs; otherwise each size and each color scheme once."""
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
SMALLEST_TARGET_PX = 24
WIDTH_BEYOND = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SMALL_TARGETS = """(smallest) => [
  ...document.querySelectorAll('button, input:not([type=hidden]), a[href], [role=slider]')]
  .map((control) => control.closest('label') ?? control)
  .map((control) => [control.dataset.name ?? control.textContent.trim(), control.getBoundingClientRect()])
  .filter(([, box]) => box.width > 0 && (box.width < smallest || box.height < smallest))
  .map(([name, box]) => `${name}: ${box.width.toFixed(1)} x ${box.height.toFixed(1)}`)"""


def views(page: Page, name: str, ways: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Show the page in each size and color scheme, with a screenshot if requested."""
    folder = os.environ.get("SFUMATO_SCREENSHOTS")
    for size, scheme in ways:
        page.set_viewport_size(SIZES[size])  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=f"{folder}/{name}-{size}-{scheme}.png", full_page=True)
        yield f"{name} {size} {scheme}"


def look_closely(page: Page, name: str, ways: Sequence[tuple[str, str]] = ALL_WAYS) -> None:
    """axe finds no violations, nothing overflows to the right, and every control is large enough."""
    for how in views(page, name, ways):
        found = Axe().run(page, options=RULES)
        assert found.violations_count == 0, f"{how}: {found.generate_report()}"
        assert page.evaluate(WIDTH_BEYOND) <= 0, how
        assert page.evaluate(SMALL_TARGETS, SMALLEST_TARGET_PX) == [], how
