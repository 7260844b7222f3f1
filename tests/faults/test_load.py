"""Short runs of steady load, overload, image requests during answers, and slow clients."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from load_trials import (
    SlowClients,
    disturbance_trial,
    overload_trial,
    picture_requests,
    slow_clients,
    steady_trial,
    write_noise_study,
)
from study_server import StudyServer, write_texts_study

BROKEN_SERVER = str(Path(__file__).with_name("broken_server.py"))


def large_study(folder: Path) -> Path:
    return write_texts_study(folder / "study", 500, answers_per_item=1_000, batch_size=500)


def test_steady_load_causes_no_refusals(tmp_path: Path) -> None:
    store = tmp_path / "answers.sqlite"
    with StudyServer(large_study(tmp_path), store=str(store)) as server:
        report = steady_trial(server, store, 50, 2, 500)
    print(report)
    assert report.acknowledged == 100
    assert report.refused == report.errors == report.lost == 0


def test_overload_is_refused_with_retry_after_and_loses_nothing(tmp_path: Path) -> None:
    store = str(tmp_path / "answers.sqlite")
    program = (BROKEN_SERVER, "short-queue")
    with StudyServer(large_study(tmp_path), store=store, program=program) as server:
        report = overload_trial(server, store, 60, 2, 1, usual=10)
    print(report)
    assert report.refused > 0
    assert report.safe, report


@pytest.mark.slow
def test_answers_during_picture_requests(tmp_path: Path) -> None:
    study = write_noise_study(tmp_path / "study", n_pictures=20)
    with StudyServer(study, store=str(tmp_path / "answers.sqlite")) as server:
        report = disturbance_trial(server, picture_requests(server, 5), 1, per_second=20)
    print(report)
    assert report.errors == 0
    assert "pictures of 10" in report.disturbance


def test_endless_headers_are_refused(tmp_path: Path) -> None:
    async def sent() -> SlowClients:
        report = SlowClients()
        async with slow_clients(server, report, n_clients=0)():
            while report.refused_headers < 10:
                await asyncio.sleep(0.01)
        return report

    with StudyServer(large_study(tmp_path)) as server:
        assert asyncio.run(asyncio.wait_for(sent(), 60)).refused_headers == 10
