"""`import sfumato` and `sfumato --help` load nothing heavy and answer at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HEAVY = ("torch", "starlette", "numpy", "polars", "pyarrow", "pandas", "scipy", "numba", "ray")
SFUMATO = Path(sys.executable).parent / "sfumato"


def loaded_after(statement: str, names: tuple[str, ...] = HEAVY, path: Path | None = None) -> set[str]:
    """Which of `names` are loaded in a fresh Python after `statement`."""
    code = f"{statement}\nimport sys\nprint(*[n for n in {names!r} if n in sys.modules])"
    env = os.environ | ({"PYTHONPATH": str(path)} if path else {})
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return set(done.stdout.split())


def test_import_loads_nothing_heavy() -> None:
    assert loaded_after("import sfumato") == set()


def test_steps_load_neither_torch_nor_starlette(tmp_path: Path) -> None:
    # Stand-ins, so that the test means something on a machine that has neither.
    for name in ("torch", "starlette"):
        (tmp_path / f"{name}.py").write_text("")
    everything = (
        "import sfumato.labeling, sfumato.importers, sfumato.labeling.transforms, sfumato.aggregation,"
        "sfumato.aggregation.ray_engine, sfumato.labeling.agreement, sfumato.cli, sfumato.labeling.screening_rules"
    )
    assert loaded_after(everything, ("torch", "starlette"), tmp_path) == set()


def test_commands_on_tables_load_no_library_that_they_do_not_use(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("item,annotator,label\n1,a,cat\n1,b,dog\n")
    for command in ("'doubt', 'votes.csv'", "'aggregate', 'votes.csv', '-o', 'labels.parquet'"):
        run = f"import os; os.chdir({str(tmp_path)!r})\nfrom sfumato.cli import main\nimport sys\n"
        run += f"sys.argv = ['sfumato', {command}]\nsys.stdout = open(os.devnull, 'w')\n"
        run += "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\nsys.stdout = sys.__stdout__"
        assert loaded_after(run, ("altair", "scipy.optimize", "scipy.stats", "torch")) == set(), command


def test_few_answers_wait_for_neither_numba_nor_ray() -> None:
    few = "from sfumato import Beliefs; from sfumato.aggregation import DawidSkene, ray_engine\n"
    few += "DawidSkene().aggregate(Beliefs.from_votes(item=[1, 1], annotator=[1, 2], label=['a', 'b']))"
    assert loaded_after(few, ("numba", "ray")) == set()


def test_the_test_can_fail(tmp_path: Path) -> None:
    for name in ("torch", "starlette"):
        (tmp_path / f"{name}.py").write_text("")
    seen = loaded_after("import sfumato, torch", ("torch", "starlette"), tmp_path)
    assert seen == {"torch"}
    assert "numpy" in loaded_after("import sfumato; sfumato.SoftLabels")


def cpu_seconds(*arguments: str) -> float:
    """CPU time of a command, children of this process only."""
    process = subprocess.Popen([SFUMATO, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def is_quick(*arguments: str) -> bool:
    """Whether a command takes less than 0.3 s of CPU time, on a busy machine the best of three times."""
    return any(cpu_seconds(*arguments) < 0.3 for _ in range(3))


def test_help_is_quick() -> None:
    assert is_quick("--help")


def test_help_of_every_command_is_quick() -> None:
    from sfumato.cli import COMMANDS

    for command in COMMANDS:
        assert is_quick(command, "--help"), command
