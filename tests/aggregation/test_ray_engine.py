"""`--engine ray`: two processes of a real cluster give what one process gives, also when one of them is killed."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato import Beliefs, SoftLabels
from sfumato.aggregation import Aggregation, AggregationInputs, AnswerMatrix, DawidSkene, Mace
from sfumato.aggregation import ray_engine as module
from sfumato.aggregation.pass_engine import Sums, quiet
from sfumato.aggregation.passes import VotePass
from sfumato.aggregation.ray_engine import RayEngine, RayParts
from sfumato.jobs import connection, local_cluster
from sfumato.tables.errors import BadSetting, MissingExtra

# Asked for, not imported: a local cluster has settings to make before Ray is imported.
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
SFUMATO = Path(sys.executable).parent / "sfumato"
CLASSES = ("cat", "deer", "dog", "frog")
EXACTLY: dict[str, Any] = {"rtol": 0, "atol": 1e-9}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with local_cluster(2, store_bytes=200_000_000):
        import ray

        yield ray


def simulated(n_items: int = 400, n_annotators: int = 12, seed: int = 0) -> Beliefs:
    """Hard votes of people who are right three times in four, three to five an item."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(n_items), rng.integers(3, 6, n_items))
    annotator = np.concatenate([rng.permutation(n_annotators)[:n] for n in np.bincount(item)])
    truth = rng.integers(0, len(CLASSES), n_items)[item]
    said = np.where(rng.random(len(item)) < 0.75, truth, rng.integers(0, len(CLASSES), len(item)))
    return Beliefs.from_numpy([f"i{i}" for i in item], [f"a{a}" for a in annotator], said, CLASSES)


def softened(beliefs: Beliefs) -> Beliefs:
    rng = np.random.default_rng(1)
    probs = 0.6 * beliefs.probs + 0.4 * rng.dirichlet(np.ones(len(CLASSES)), len(beliefs))
    item, annotator = beliefs.item.text().to_pylist(), beliefs.annotator.text().to_pylist()
    return Beliefs.from_numpy(item, annotator, probs, CLASSES)


def some_gold() -> SoftLabels:
    names = [f"i{i}" for i in range(0, 400, 7)]
    return SoftLabels.one_hot(names, [CLASSES[i % 4] for i in range(len(names))], CLASSES)


WEIGHTS = {"a0": 0.5, "a3": 2.0, "a7": 0.1}


def assert_same(found: Aggregation, expected: Aggregation) -> None:
    np.testing.assert_allclose(found.labels.probs, expected.labels.probs, **EXACTLY)
    assert found.labels.items.equals(expected.labels.items)
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-12, atol=1e-9)
    assert found.converged == expected.converged
    assert found.annotators.measures.keys() == expected.annotators.measures.keys()
    for name, measure in expected.annotators.measures.items():
        np.testing.assert_allclose(found.annotators.measures[name], measure, **EXACTLY, err_msg=name)


@needs_ray
@pytest.mark.parametrize(
    ("aggregator", "beliefs", "inputs"),
    [
        pytest.param(
            DawidSkene(),
            softened(simulated()),
            AggregationInputs(weights=WEIGHTS),
            id="virtual-evidence-weights",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            DawidSkene(prior=0.0),
            simulated(),
            AggregationInputs(gold=some_gold(), weights=WEIGHTS),
            id="gold-weights",
            marks=pytest.mark.slow,
        ),
        pytest.param(Mace(), simulated(), AggregationInputs(gold=some_gold()), id="mace", marks=pytest.mark.slow),
    ],
)
def test_same_as_local(cluster: Any, aggregator: Any, beliefs: Beliefs, inputs: AggregationInputs) -> None:
    on_ray = AggregationInputs(gold=inputs.gold, weights=inputs.weights, engine=RayEngine(2))
    assert_same(aggregator.aggregate(beliefs, on_ray), aggregator.aggregate(beliefs, inputs))


@needs_ray
@pytest.mark.slow
def test_same_as_local_where_passes_are_compiled(cluster: Any) -> None:
    from sfumato.aggregation import kernels

    if not kernels.is_built():
        pytest.skip("the kernels are not compiled: python -m sfumato.aggregation.kernels")
    beliefs = simulated(n_items=11_000, n_annotators=40)
    answers = AnswerMatrix.of(beliefs, AggregationInputs(engine=RayEngine(2)))
    assert all(answers.part(*each).compiled for each in answers.blocks(len(answers.key) // 2 + 1))
    few = DawidSkene(iterations=5, tolerance=0.0)
    assert_same(few.fit(answers), few.aggregate(beliefs))


@needs_ray
@pytest.mark.slow
def test_fewer_items_than_workers(cluster: Any) -> None:
    beliefs = Beliefs.from_numpy(["i", "i", "i"], ["a", "b", "c"], np.array([0, 0, 1]), CLASSES)
    parts = RayEngine(2).open(AnswerMatrix.of(beliefs))
    assert len(parts.held) == 1
    np.testing.assert_allclose(parts.run(VotePass(by_class=False)).shares, [2 / 3, 1 / 3, 0, 0], **EXACTLY)
    parts.close()
    assert cluster.is_initialized()  # which is not ours to end


class WatchedEngine:
    """A `RayEngine` whose parts can be reached while EM runs."""

    def __init__(self) -> None:
        self.parts: RayParts | None = None

    def open(self, answers: AnswerMatrix) -> RayParts:
        self.parts = RayEngine(2).open(answers)
        return self.parts

    def processes(self, ray: Any) -> list[int]:
        assert self.parts is not None
        return [ray.get(part.holder.__ray_call__.remote(lambda _: os.getpid())) for part in self.parts.held]


@needs_ray
def test_a_killed_worker_changes_nothing(cluster: Any) -> None:
    aggregator = DawidSkene(iterations=8, tolerance=0.0)
    beliefs = softened(simulated())
    engine = WatchedEngine()
    before: list[int] = []
    after: list[int] = []

    def kill_one(iteration: int, iterations: int, objective: float) -> None:
        if iteration == 3:
            before.extend(engine.processes(cluster))
            os.kill(before[1], signal.SIGKILL)
        elif iteration == 5:
            after.extend(engine.processes(cluster))

    found = aggregator.aggregate(beliefs, AggregationInputs(engine=engine, progress=kill_one))
    assert after[0] == before[0]
    assert after[1] != before[1]
    assert_same(found, aggregator.aggregate(beliefs))


class FatalOncePass:
    """Kills the process it first runs in, in the middle of the pass; a file remembers that it did."""

    def __init__(self, work: Any, mark: Path) -> None:
        self.work = work
        self.mark = mark

    def run(self, answers: Any, first: int, last: int, posterior: np.ndarray, *, counted: bool) -> Any:
        sums = self.work.run(answers, first, last, posterior, counted=counted)
        try:
            self.mark.touch(exist_ok=False)
        except FileExistsError:
            return sums
        os.kill(os.getpid(), signal.SIGKILL)
        return sums


@needs_ray
@pytest.mark.slow
def test_a_worker_killed_within_a_pass_does_it_over(cluster: Any, tmp_path: Path) -> None:
    answers = AnswerMatrix.of(simulated())
    # This module cannot be imported by the workers.
    cluster.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    parts = RayEngine(2).open(answers)
    work = VotePass(by_class=True)
    found = parts.run(FatalOncePass(work, tmp_path / "killed"), kept=True)
    parts.close()
    cluster.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    assert (tmp_path / "killed").exists()
    expected = answers.engine.open(answers).run(work, kept=True)
    np.testing.assert_allclose(found.counts, expected.counts, **EXACTLY)
    np.testing.assert_allclose(found.shares, expected.shares, **EXACTLY)
    np.testing.assert_allclose(found.posterior, expected.posterior, **EXACTLY)
    assert found.counts.sum() == pytest.approx(len(answers.key), abs=1e-9)


@needs_ray
@pytest.mark.slow
def test_only_sums_travel(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    arrived: list[Sums] = []
    received = module._received

    def watched(reference: Any) -> Sums:
        arrived.append(received(reference))
        return arrived[-1]

    monkeypatch.setattr(module, "_received", watched)
    work = VotePass(by_class=True)
    for n_items in (400, 4000):
        parts = RayEngine(1).open(AnswerMatrix.of(simulated(n_items)))
        assert parts.run(work).posterior is None
        kept = parts.run(work, kept=True, counted=False)
        parts.close()
        assert kept.posterior is not None
        assert kept.posterior.shape == (n_items, len(CLASSES))
        assert kept.counts.size == 0
    few, few_kept, many, many_kept = (len(pickle.dumps(sums)) for sums in arrived)
    assert few == many
    assert few < few_kept < many_kept


def test_names_and_progress_stay_at_home() -> None:
    part = AnswerMatrix.of(simulated(), AggregationInputs(progress=lambda *_: None)).part(100, 200)
    sent = module._stripped(part)
    assert sent.progress is quiet
    assert (sent.n_items, sent.n_annotators) == (part.n_items, part.n_annotators)
    assert b"i150" not in pickle.dumps(sent)
    np.testing.assert_array_equal(sent.key, part.key)


@needs_ray
def test_a_local_cluster_listens_to_this_machine_alone(cluster: Any) -> None:
    assert cluster.util.get_node_ip_address() == "127.0.0.1"


@needs_ray
def test_more_workers_than_the_cluster_has_are_refused(cluster: Any) -> None:
    with pytest.raises(BadSetting, match="2 CPUs for 3 workers"):
        RayEngine(3).open(AnswerMatrix.of(simulated()))


@needs_ray
@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:99999", "ray://127.0.0.1:1"])
def test_a_cluster_that_is_not_there(cluster: Any, address: str) -> None:
    with pytest.raises(BadSetting, match="no Ray cluster") as caught, connection(address):
        pass
    assert caught.value.code == "no-cluster"


@needs_ray
def test_no_workers_are_refused() -> None:
    with pytest.raises(BadSetting, match="workers = 0"):
        RayEngine(0)


def test_ray_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_ray(name: str) -> object:
        return None if name == "ray" else find_spec(name)

    monkeypatch.setattr("sfumato.jobs.find_spec", without_ray)
    with pytest.raises(MissingExtra, match=r'the engine ray.*pip install "sfumato\[scale\]"'):
        RayEngine(2)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        command = [str(each) for each in (SFUMATO, "aggregate", *arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=env, timeout=50)

    return run


@needs_ray
@pytest.mark.slow
def test_the_command_gives_the_file_of_the_local_engine(tmp_path: Path, run: Any) -> None:
    simulated().write(tmp_path / "beliefs.parquet")
    for engine in ("ray", "local"):
        done = run("beliefs.parquet", "--by", "dawid-skene", "--engine", engine, "-o", f"{engine}.parquet")
        assert done.returncode == 0, done.stderr
        # Of what runs long, the progress is shown; Ray says nothing.
        assert all(line.startswith("iteration ") for line in done.stderr.splitlines()), done.stderr
    found, expected = SoftLabels.read(tmp_path / "ray.parquet"), SoftLabels.read(tmp_path / "local.parquet")
    np.testing.assert_allclose(found.probs, expected.probs, **EXACTLY)
    assert found.items.equals(expected.items)
    assert found.classes == expected.classes


def test_the_command_refuses_what_would_not_run_on_the_cluster(tmp_path: Path, run: Any) -> None:
    done = run("beliefs.parquet", "--by", "glad", "--engine", "ray", "-o", "labels.parquet", "--json")
    assert done.returncode == 2
    error = json.loads(done.stderr)
    assert error["code"] == "bad-setting"
    assert "mean, majority, dawid-skene, ordinal-dawid-skene, one-coin, mace" in error["expected"]
