"""Two processes under torchrun come to the same as one alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import ranks_job

from sfumato.training.ranks import Ranks


@pytest.mark.parametrize("network", ["lenet"])
def test_two_ranks_learn_what_one_does(network: str, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*torchrun, ranks_job.__file__, out, network], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    alone = ranks_job.train(network)
    with np.load(out) as found:
        assert set(found.files) == set(alone)
        for name in alone:
            assert np.allclose(found[name], alone[name], atol=1e-5), name
            assert np.isfinite(found[name]).all(), name


def test_parts_make_up_the_batch_and_weigh_as_much() -> None:
    for n in range(1, 9):
        ranks = [Ranks(rank, 3) for rank in range(3)]
        parts = [list(range(n))[each.part(n)] for each in ranks]
        weights = [each.weight(len(part), n) for each, part in zip(ranks, parts, strict=True)]
        assert sum(weights) / 3 == pytest.approx(1)
        if n >= 3:
            assert sorted(i for part in parts for i in part) == list(range(n))
        else:
            assert parts == [list(range(n))] * 3
