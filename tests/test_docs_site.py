"""The documents as a site: built without a warning, every page in its place, and nothing asked of a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it. Strict: a link, anchor or page that leads nowhere, or is in no menu, fails."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    # The theme's makers tell at every build what they make next; that is no warning about this site.
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_page_is_there(site: Path) -> None:
    sources = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    built = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")} - {Path("404")}
    assert built == sources


def test_nothing_is_fetched(site: Path) -> None:
    """No script, style, font or picture from elsewhere; links that a reader may follow are another matter."""
    for page in site.rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|img|iframe|source)[^>]+src="?([^"\s>]+)', html)
        fetched += re.findall(r'<link[^>]+href="?([^"\s>]+)', html)
        assert [each for each in fetched if re.match(r"(https?:)?//", each)] == [], page.name
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", styles)


def test_lists_and_bars_come_out_as_written(site: Path) -> None:
    note = (site / "design" / "0010-pages-and-charts.html").read_text(encoding="utf-8")
    assert re.search(r"What follows\.</strong></p>\s*<ul>", note)
    assert "<code>(1 - |p|²) / M</code>" in (site / "plan-methods.html").read_text(encoding="utf-8")


def test_a_reader_can_search(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert "Krippendorff" in index
    assert "javascripts/iframe-worker.js" in (site / "index.html").read_text(encoding="utf-8")
