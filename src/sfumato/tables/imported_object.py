"""An object of a Python module by its name, for models of your own."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from sfumato.tables.errors import BadSetting, show


def imported_object(path: str, what: str) -> Any:
    """The object called `package.module.name` or `package.module:name`; the current folder is searched last.

    Importing runs the code of the module.
    """
    module_name, _, name = path.replace(":", ".").rpartition(".")
    expected = f"{what} as package.module.name"
    if not module_name or not all(part.isidentifier() for part in (*module_name.split("."), name)):
        raise BadSetting(f"the name {show(path)}", expected, "write the module and the name in it", "unknown-import")
    here = str(Path.cwd())
    if here not in sys.path:
        # Kept for the worker processes, which import the module of an object that they receive.
        sys.path.append(here)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        found = f"{show(module_name)}, which cannot be imported ({type(error).__name__}: {str(error)[:120]})"
        fix = "correct the name, install the package, or run the command in the folder of the module"
        raise BadSetting(found, expected, fix, "unknown-import") from error
    if not hasattr(module, name):
        known = [each for each in vars(module) if not each.startswith("_")]
        near = [each for each in known if each.lower() == name.lower()]
        fix = f"did you mean {module_name}.{near[0]}?" if near else f"use a name that {module_name} defines"
        raise BadSetting(f"no {show(name)} in {module_name}", expected, fix, "unknown-import")
    return getattr(module, name)
