"""Colors can be told apart by everybody, and read on."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sfumato.reporting import colors

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
SIGHTS = {
    "normal": np.eye(3),
    "no red cones": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green cones": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "no blue cones": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
SCHEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])


def linear(color: str) -> np.ndarray:
    shares = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """As WCAG has it."""
    low, high = sorted(float(linear(each) @ [0.2126, 0.7152, 0.0722]) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


def oklab(rgb: np.ndarray) -> np.ndarray:
    cones = np.array([
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ])  # fmt: skip
    axes = np.array([
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ])  # fmt: skip
    return axes @ np.cbrt(np.clip(cones @ rgb, 0, None))


def smallest_difference(palette: tuple[str, ...]) -> float:
    return min(
        float(np.linalg.norm(oklab(sight @ linear(a)) - oklab(sight @ linear(b))))
        for sight in SIGHTS.values()
        for a, b in combinations(palette, 2)
    )


def test_contrast_is_measured_rightly() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@SCHEMES
def test_series_differ_for_every_eye(dark: bool) -> None:
    palette = colors.SERIES_DARK if dark else colors.SERIES_LIGHT
    paper = colors.variables(dark=dark)["paper"]
    assert all(contrast(each, paper) >= 3 for each in palette)
    assert smallest_difference(palette) > 1.4 * smallest_difference(OKABE_ITO)


@SCHEMES
def test_what_is_written_on_a_step_can_be_read(dark: bool) -> None:
    named = colors.variables(dark=dark)
    for token in (*colors.ramp(10), *colors.poles(4)):
        step = named[token.removeprefix("var(--").removesuffix(")")]
        assert contrast(step, named["paper" if token in colors.DARK_STEPS else "ink"]) >= 4.5, token


@SCHEMES
def test_words_can_be_read(dark: bool) -> None:
    named = colors.variables(dark=dark)
    assert all(contrast(named[word], named["paper"]) >= 4.5 for word in ("ink", "muted", "accent", "mark"))
    assert contrast(named["ink"], named["accent-soft"]) >= 4.5


@SCHEMES
def test_the_ramp_leads_away_from_the_paper(dark: bool) -> None:
    named = colors.variables(dark=dark)
    away = [contrast(named[f"ramp-{i}"], named["paper"]) for i in range(10)]
    assert away == sorted(away)


def ranged(*names: str) -> dict[str, object]:
    return {"encoding": {"color": {"scale": {"range": [f"series:{name}" for name in names]}}}}


def test_a_name_has_one_colour_on_a_page_and_no_other_beside_it_has_the_same() -> None:
    found = colors.series_of([ranged("mine", "soft"), ranged("yours", "mine"), ranged("soft", "theirs")])
    assert found["soft"] == "var(--series-1)"
    assert found["mine"] not in (found["soft"], found["yours"])
    assert found["theirs"] != found["soft"]
    assert set(found) == {"mine", "soft", "yours", "theirs"}


def test_after_six_there_is_grey() -> None:
    found = colors.series_of([ranged(*"abcdefgh")])
    assert len({found[name] for name in "abcdef"}) == 6
    assert found["g"] == found["h"] == "var(--muted)"


def test_data_that_look_like_tokens_stay_as_they_are() -> None:
    spec = {**ranged("soft"), "datasets": {"rows": [{"kind": "series:soft", "x": "var(--ink)"}]}}
    plain = colors.themed(spec, dark=False)
    assert plain["datasets"] == spec["datasets"]
    assert plain["encoding"]["color"]["scale"]["range"] == [colors.SERIES_LIGHT[0]]
