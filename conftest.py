"""Shared by all tests: array types are checked as functions run, and the published data is found or the test skips."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from array_checks import check_arrays_only
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

# How long an example takes says more of what else the machine does than of the test.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# Compiled functions must stay as they are written: Numba cannot compile what a check is wrapped around.
AGGREGATE = Path(find_spec("sfumato").submodule_search_locations[0]) / "aggregation"
PLAN = (
    "grid_engines",
    "informativeness.embedding",
    "informativeness.label_types",
    "informativeness.latent_world",
    "informativeness.simulation",
    "informativeness.triplets",
    "learning_curve",
)

check_arrays_only()
# Every annotated function of these modules checks the axes and dtypes of its arrays while tests run.
install_import_hook(
    [
        *(f"sfumato.aggregation.{path.stem}" for path in AGGREGATE.glob("*.py") if path.stem != "kernels"),
        "sfumato.tables.annotations",
        "sfumato.tables.beliefs",
        "sfumato.tables.columns",
        "sfumato.tables.doubt",
        "sfumato.evaluation",
        "sfumato.labeling",
        "sfumato.tables.columns",
        "sfumato.tables.bootstrap",
        "sfumato.tables.scores",
        "sfumato.tables.soft_labels",
        "sfumato.tables.text_columns",
    ],
    "array_checks.checked",
)
install_import_hook([f"sfumato.planning.{name}" for name in PLAN], "array_checks.checked_with_whole_numbers")

from loaded_python import end_loaded_sfumato  # noqa: E402
from postgres_cluster import Cluster, cluster  # noqa: E402
from study_instance import Serve, StudyInstance, plain_study, running_instance  # noqa: E402

from sfumato import Annotations, Counts, SoftLabels  # noqa: E402
from sfumato.importers import Cifar10HImporter, Cifar10SImporter  # noqa: E402
from sfumato.study.stimulus import Stimulus  # noqa: E402
from sfumato.study.study import People, Study  # noqa: E402


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Collect tests with garbage collection off; later it skips what was collected, which lives until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_sessionfinish() -> None:
    end_loaded_sfumato()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A PostgreSQL cluster for the run; where it is not installed the tests that need one fail, and not in silence."""
    with cluster() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store: once an SQLite file, once a PostgreSQL database."""
    if request.param == "sqlite":
        return str(tmp_path / "answers.sqlite")
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture
def serve(store: str) -> Iterator[Serve]:
    """Starts a study on an empty store; whatever is started is stopped in the end."""
    managers = []

    def start(study: Study | None = None, stimuli: Sequence[Stimulus] | None = None, **people: int) -> StudyInstance:
        if people:
            study = plain_study(people=People(**people))
        managers.append(running_instance(store, study, stimuli))
        return managers[-1].__enter__()

    yield start
    for manager in managers:
        manager.__exit__(None, None, None)


@pytest.fixture
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords hashed at the lowest cost, for tests that do not check the cost."""
    from argon2 import PasswordHasher

    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr("sfumato.server.passwords._hasher", lambda: hasher)
    monkeypatch.setattr("sfumato.server.passwords.DUMMY_HASH", hasher.hash("nobody"))


@pytest.fixture
def quick_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans that simulate one study instead of many, for tests that do not check the figures."""
    monkeypatch.setattr("sfumato.planning.pilot_calibration.FEWEST_SIMULATED", 1)


@pytest.fixture(scope="session")
def published() -> Path:
    """The folder with the published data sets, one folder each."""
    place = os.environ.get("SFUMATO_DATA")
    if not place:
        pytest.skip("the published data is not here: set SFUMATO_DATA to the folder that holds cifar10s, cifar10h ...")
    return Path(place)


@pytest.fixture(scope="session")
def cifar_10h(published: Path) -> SoftLabels:
    table = Cifar10HImporter().read(published / "cifar10h").table
    assert isinstance(table, Counts)
    return table.labels()


@pytest.fixture(scope="session")
def first_pass(published: Path) -> Annotations:
    """The 6,200 first-pass answers of CIFAR-10S."""
    table = Cifar10SImporter().read(published / "cifar10s").table
    assert isinstance(table, Annotations)
    return table


@pytest.fixture(scope="session")
def with_repeats(published: Path) -> Annotations:
    table = Cifar10SImporter(repeats=True).read(published / "cifar10s").table
    assert isinstance(table, Annotations)
    return table


@pytest.fixture(scope="session")
def as_released(published: Path) -> Annotations:
    """The 6,723 answers behind the released CIFAR-10S labels."""
    table = Cifar10SImporter(as_released=True).read(published / "cifar10s").table
    assert isinstance(table, Annotations)
    return table
