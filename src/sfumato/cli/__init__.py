"""The command line: one file per command. A command reads, makes one library call, and shows the result.

Commands load when they are called, so that `sfumato --help` stays quick.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import warnings
from typing import NoReturn

import click

from sfumato import __version__
from sfumato.cli.lazy_group import LazyGroup
from sfumato.tables.errors import BadFile, BadSetting, CannotWrite, SfumatoError, one_line

COMMANDS = {
    "study": ("sfumato.cli.study", "Create, check and manage a study."),
    "import": ("sfumato.cli.import_", "Import votes, counts, predictions or published data sets."),
    "select": ("sfumato.cli.select", "Keep a part of a table, or divide it into splits."),
    "label": ("sfumato.cli.label", "Convert answers into per-annotator distributions (beliefs)."),
    "screen": ("sfumato.cli.screen", "List annotators to exclude, with reasons."),
    "doubt": ("sfumato.cli.doubt", "Measure uncertainty per item, within and between annotators."),
    "agreement": ("sfumato.cli.agreement", "Measure inter-annotator agreement with confidence intervals."),
    "transform": ("sfumato.cli.transform", "Smooth, sharpen, sparsify or complete labels."),
    "aggregate": ("sfumato.cli.aggregate", "Aggregate votes or beliefs into soft labels."),
    "train": ("sfumato.cli.train", "Train and compare models on soft and hard labels."),
    "shift": ("sfumato.cli.shift", "Test trained models on corrupted or different images."),
    "attack": ("sfumato.cli.attack", "Test trained models with FGSM and PGD attacks."),
    "evaluate": ("sfumato.cli.evaluate", "Score predictions against people's labels."),
    "map": ("sfumato.cli.map", "Draw data maps: easy, ambiguous and hard items."),
    "represent": ("sfumato.cli.represent", "Compare a model's features with human similarity judgments."),
    "duplicates": ("sfumato.cli.duplicates", "Find duplicate items and leakage between splits."),
    "plan": ("sfumato.cli.plan", "Plan which labels to collect, how many, and for which items."),
    "report": ("sfumato.cli.report", "Write a report as one HTML page."),
    "share": ("sfumato.cli.share", "Export labels for others: Hugging Face, CSV, NumPy, PyTorch."),
    "datasheet": ("sfumato.cli.datasheet", "Write a datasheet for a labeled data set."),
    "soften": ("sfumato.cli.soften", "Simulate soft labels from hard labels."),
    "serve": ("sfumato.cli.serve", "Serve a study to participants in the browser."),
    "verify": ("sfumato.cli.backup:verify", "Check that stored answers have not been changed."),
    "backup": ("sfumato.cli.backup:backup", "Copy a store into one file, also while it is served."),
    "restore": ("sfumato.cli.backup:restore", "Restore a store from a backup."),
    "export": ("sfumato.cli.export", "Export a study's answers as a table."),
    "simulate": ("sfumato.cli.simulate", "Send simulated annotators through a study."),
    "demo": ("sfumato.cli.demo.command", "Run the whole workflow on a small example."),
}


@click.command(
    cls=LazyGroup,
    members=COMMANDS,
    renamed={"learn": "train"},
    heading="Commands",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="sfumato")
@click.option("--json", "as_json", is_flag=True, help="Print errors as JSON.")
@click.pass_context
def group(context: click.Context, as_json: bool) -> None:  # noqa: ARG001
    """Collect and use soft labels: run studies, aggregate votes, train and evaluate models, plan, report."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: list[str] | None = None) -> None:
    """Run a command; errors of ours are printed in one line and end with exit code 2, never with a traceback."""
    arguments = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in arguments
    # `--json` may stand anywhere: before the command, or behind it.
    arguments = [argument for argument in arguments if argument != "--json"]
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            group.main(args=arguments, prog_name="sfumato", standalone_mode=False)
            sys.stdout.flush()
        except SfumatoError as error:
            _end(error, as_json)
        except click.ClickException as error:
            _end(usage_error(error), as_json)
        except click.Abort:
            click.echo("stopped", err=True)
            sys.exit(130)
        except MemoryError:
            fix = "work on a part of it, or on a larger machine"
            _end(BadFile("more data than fits into memory", "a table that fits", fix, "out-of-memory"), as_json)
        except OSError as error:
            _end(_lost_output(error), as_json)


def _end(error: SfumatoError, as_json: bool) -> NoReturn:
    """Print the error and leave; what could not be printed before is let go."""
    # A study file may hold several mistakes: each is one line, as text and as JSON.
    for each in getattr(error, "mistakes", (error,)):
        click.echo(json.dumps(each.as_dict()) if as_json else str(each), err=True)
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    # At once, and not by way of the interpreter's end: what a full or closed output left over would raise again there,
    # and threads of libraries that are still running would end the program their way, with another exit code.
    os._exit(2)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"warning: {one_line(str(message))}", err=True)


def usage_error(error: click.ClickException) -> SfumatoError:
    """The error for a command line that click refuses, with the option to add where it is known."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "sfumato"
    message, help_text = error.format_message().rstrip("."), f"see {command} --help"
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option):
        option, help_of = error.param.opts[-1], (error.param.help or "its value").rstrip(".")
        # Names of tables keep their capital: SoftLabels.
        help_of = help_of[:1].lower() + help_of[1:] if help_of.split()[0][1:].islower() else help_of
        value = error.param.metavar or error.param.type.name.upper().replace("PATH", "FILE")
        fix = f"add {option} {value}; {help_text}"
        return BadSetting(f"no {option}", help_of, fix, "usage")
    if context is not None and message.startswith("Got unexpected extra argument"):
        extra = message.partition("(")[2].rstrip(")")
        names = [each.human_readable_name for each in context.command.params if isinstance(each, click.Argument)]
        if names:
            return BadSetting(f"the extra argument {extra}", f"only {' '.join(names)} and options", help_text, "usage")
        options = [
            each.opts[-1]
            for each in context.command.params
            if isinstance(each, click.Option) and (isinstance(each.type, click.Path) or "FILE" in (each.metavar or ""))
            if not context.params.get(each.name or "") and "rite" not in (each.help or "")
        ]
        fix = f"write {' or '.join(options[:2])} before {extra}; {help_text}" if options else help_text
        return BadSetting(f"{extra} without an option", "options only", fix, "usage")
    return BadSetting(message[:1].lower() + message[1:], "options as listed", help_text, "usage")


def _lost_output(error: OSError) -> SfumatoError:
    found = f"found an output that cannot be written ({error.strerror or error})"
    fix = "free some space, or send the output elsewhere; files already written are whole"
    code = "disk-full" if error.errno == errno.ENOSPC else "cannot-write"
    return CannotWrite(found, "a terminal or file with room", fix, code)
