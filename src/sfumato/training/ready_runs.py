"""Ready runs: finished runs whose networks can be asked again, about pictures that were changed or are new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int

from sfumato.tables.errors import BadFile, BadTable, ErrorLocation, listing, show
from sfumato.tables.inputs import Inputs
from sfumato.training.networks import Network
from sfumato.training.runs import MODEL, RUN, Predictor, Run, shape_of


@dataclass(frozen=True, eq=False)
class TrainedRuns:
    """Runs, in the order of their folders' names; `notes` say which were left out, and why."""

    runs: tuple[Run, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def in_folder(cls, place: str | Path) -> TrainedRuns:
        """The run in `place`, or the runs in the folders there; those that cannot be asked are left out, if any can."""
        place = Path(place)
        if (place / RUN).is_file():
            run = Run.read(place)
            if why := _why_not(run):
                raise _unready(f"found {why}", place)
            return cls((run,))
        folders = sorted(path.parent for path in place.glob(f"*/{RUN}"))
        if not folders:
            raise BadFile(
                "found no finished run" if place.is_dir() else "found no such folder",
                expected="the folder of a run, or one that holds such folders",
                fix="train networks first: sfumato learn ... -o runs/",
                code="no-such-run",
                where=ErrorLocation(str(place)),
            )
        runs = [Run.read(folder) for folder in folders]
        reasons = {run.folder.name: why for run in runs if (why := _why_not(run))}
        if len(reasons) == len(runs):
            raise _unready(f"found {next(iter(reasons.values()))} (in {listing(list(reasons), 3)})", place)
        notes = tuple(f"left out {name}: {why}" for name, why in reasons.items())
        return cls(tuple(run for run in runs if run.folder.name not in reasons), notes)


def _why_not(run: Run) -> str:
    if "condition" in run.said:
        return "predictions under a condition, without a network"
    if run.said["ended"] == "diverged":
        return "a run that diverged"
    if not (run.folder / MODEL).is_file():
        return f"no {MODEL}"
    return ""


def _unready(found: str, place: Path) -> BadFile:
    return BadFile(
        found,
        expected="a run that came to its end, with its weights",
        fix="give a folder that sfumato learn wrote; train what diverged again, with a smaller --rate",
        code="no-weights",
        where=ErrorLocation(str(place)),
    )


def tested_rows(run: Run, inputs: Inputs) -> Int[np.ndarray, "tested"]:
    """Where the items that the run predicted stand among `inputs`."""
    if run.predictions is None:
        raise BadFile(
            "found no predictions",
            expected="a run with test items: those alone are looked at again",
            fix="train with a --split that has test items, or give other inputs with --extra",
            code="no-predictions",
            where=ErrorLocation(str(run.folder)),
        )
    items = run.predictions.items.to_pylist()
    rows = inputs.rows_of(items)
    missing = [items[i] for i in np.flatnonzero(rows < 0)]
    if missing:
        more = f" ({len(missing):,} such items)" if len(missing) > 1 else ""
        raise BadTable(
            f"found no input for item {show(missing[0])}{more}, which {run.folder.name} predicted",
            expected="an input for every test item",
            fix="give the inputs that the networks learnt from",
            code="missing-input",
            where=ErrorLocation(str(inputs.path) if inputs.path else None),
        )
    return rows


def check_fits(run: Run, inputs: Inputs) -> None:
    """An error unless `inputs` are pictures of the size the run learnt from."""
    where = ErrorLocation(str(inputs.path) if inputs.path else None)
    if inputs.images is None:
        raise BadTable(
            "found texts",
            expected="images: the networks here see nothing else",
            fix="give an npz with images",
            code="no-images",
            where=where,
        )
    channels, height, width = run.said["shape"]
    found = shape_of(inputs.images)
    if found != (channels, height, width):
        raise BadTable(
            f"found images of {found[1]} x {found[2]} pixels in {found[0]} channel{'s' * (found[0] != 1)}",
            expected=f"{height} x {width} pixels in {channels}, as {run.folder.name} learnt from",
            fix="give images of that size",
            code="wrong-shape",
            where=where,
        )


def predictor_of(run: Run, networks: Mapping[str, Network]) -> Predictor:
    """The run's network; `networks` holds those of your own, which no name leads to, by the names they run under."""
    try:
        return run.predictor(networks.get(run.said["network"]))
    except RuntimeError as error:
        raise BadFile(
            f"found weights of another network ({' '.join(str(error).split())[:120]})",
            expected=f"those of {run.said['network']}",
            fix="take the run's folder away and run the grid again",
            code="damaged",
            where=ErrorLocation(str(run.folder / MODEL)),
        ) from error
