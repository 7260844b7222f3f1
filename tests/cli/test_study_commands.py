"""A study from the command line: begun, checked, served, answered by simulated people, and exported."""

from __future__ import annotations

import http.client
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import polars as pl
import pytest
from click.testing import CliRunner
from sfumato_command import sfumato
from study_server import StudyServer

from sfumato import Annotations, Beliefs
from sfumato.cli import group
from sfumato.tables.errors import BadSetting


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo study as `sfumato study new` writes it, with few answers an item so that it is soon over."""
    folder = tmp_path_factory.mktemp("cli") / "shapes"
    said = sfumato("study", "new", folder, "--demo").stdout
    assert f"sfumato serve {folder}" in said
    return folder


@pytest.fixture(scope="module")
def server(study: Path) -> Iterator[StudyServer]:
    """The study served and answered by three simulated people."""
    with StudyServer(study) as running:
        said = sfumato("simulate", study, "--annotators", 3, "--url", running.url).stdout
        assert "3 annotators in" in said
        yield running


def test_a_new_study_passes_its_check(study: Path) -> None:
    assert ": no mistakes" in sfumato("study", "check", study).stdout


@pytest.mark.parametrize("command", ["serve", "export", "simulate", "study", "study links", "study check", "study new"])
def test_every_command_explains_itself(command: str) -> None:
    said = CliRunner().invoke(group, [*command.split(), "--help"])
    assert said.exit_code == 0
    assert len(said.output.splitlines()) > 5


def test_serve_says_where_it_listens_by_default() -> None:
    said = " ".join(CliRunner().invoke(group, ["serve", "--help"]).output.split())
    assert "this machine only" in said
    assert "--public" in said


def test_links_are_made_while_the_study_is_served(study: Path, server: StudyServer) -> None:
    said = sfumato("study", "links", study, "-n", 3, "--address", f"{server.url}/").stdout.split()
    assert len(set(said)) == 3
    for link in said:
        assert re.fullmatch(re.escape(server.url) + r"/s/[\w-]{52}", link)
        with urlopen(link, timeout=10) as reply:
            assert reply.status == 200


def test_the_printed_command_makes_a_link_that_opens_the_dashboard(study: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(study, tmp_path / "shapes", ignore=shutil.ignore_patterns("store", "*.log")))
    with StudyServer(folder, store=str(tmp_path / "an other.sqlite")) as server:
        (command,) = re.findall(r"for another link: sfumato (.*)", server.log.read_text())
        link = sfumato(*shlex.split(command)).stdout.strip()
        assert link.startswith(f"{server.url}/studio/")
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("POST", link.removeprefix(server.url))
        reply = connection.getresponse()
        assert (reply.status, reply.getheader("location")) == (303, "/studio")
        connection.close()


@pytest.mark.parametrize(
    ("address", "fix"),
    [
        ("study.example.org", "https://study.example.org"),
        ("127.0.0.1:8961", "http://127.0.0.1:8961"),
        ("localhost:8961/", "http://localhost:8961/"),
        ("//study.example.org", "https://study.example.org"),
        ("ftp://study.example.org", "https://study.example.org"),
        ("https://", "https://study.example.org"),
        ("", "https://study.example.org"),
    ],
)
def test_an_address_has_a_scheme(study: Path, address: str, fix: str) -> None:
    for name in ("entry", "login", "links"):
        done = CliRunner().invoke(group, ["study", name, str(study), "--address", address])
        assert isinstance(done.exception, BadSetting)
        assert (done.exception.code, done.exception.fix) == ("bad-address", f"write --address {fix}")


def test_an_export_while_the_study_is_served(study: Path, server: StudyServer, tmp_path: Path) -> None:
    output, records = tmp_path / "answers.parquet", tmp_path / "records.csv"
    said = sfumato("export", study, "-o", output, "--records", records).stdout
    table = Annotations.read(output)
    # Three people and ten items each; practice stays in the store.
    assert len(table) == 30
    assert "30 answers (tokens/1)" in said
    people = set(table.annotator.names.to_pylist())
    assert len(people) == 3
    assert all(re.fullmatch(r"A[a-z0-9]{10}", name) for name in people)
    assert len(pl.read_csv(records)) == 30
    book = (tmp_path / "answers.codebook.md").read_text()
    for word in ("tokens", "others", "seconds", "annotator", "item", "purpose"):
        assert word in book
    assert str(tmp_path / "answers.codebook.md") in said
    (command,) = re.findall(r"To list annotators to exclude: sfumato (.*)", said)
    assert f" --records {records} " in command
    assert "give --records" not in sfumato(*shlex.split(command)).stdout
    sfumato("label", output, "--by", "tokens", "-o", tmp_path / "beliefs.parquet")
    assert len(Beliefs.read(tmp_path / "beliefs.parquet")) == 30


def test_simulated_people_need_no_server(study: Path, tmp_path: Path) -> None:
    store = tmp_path / "simulated.sqlite"
    said = sfumato("simulate", study, "--annotators", 2, "--store", store, "--seed", 1).stdout
    assert "2 finished" in said
    assert str(store) in said
    assert "20 answers" in sfumato("export", study, "-o", tmp_path / "a.csv", "--store", store).stdout


def test_an_export_before_anyone_came(study: Path, tmp_path: Path) -> None:
    error = sfumato("export", study, "-o", tmp_path / "a.csv", "--store", tmp_path / "none.sqlite", code=2).stderr
    assert error.startswith("error[no-store] ")
    assert list(tmp_path.iterdir()) == []
