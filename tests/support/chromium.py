"""The installed Chromium, without parts that the tests do not need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

PROGRAM = next(
    (path for path in ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium") if Path(path).exists()), "chromium"
)
"""The same engine without the windows around it takes a third less CPU time."""
FEATURES_OF_PLAYWRIGHT = (
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding", "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled",
    "PreconnectToSearch",
)  # fmt: skip
"""Features that Playwright disables. Chromium uses only the last list, so ours repeats them."""
WAITING_PROCESSES = (
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "SpareRendererForSitePerProcess",
)
"""Processes that Chromium starts for every context for the address bar: half the CPU time of a page."""
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    f"--disable-features={','.join(FEATURES_OF_PLAYWRIGHT + WAITING_PROCESSES)}",
)


@contextmanager
def launched() -> Iterator[Browser]:
    """A running Chromium while the context is open; an error if it is not installed."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=list(ARGUMENTS))
        yield browser
        browser.close()
