"""`python -m sfumato`: the command line."""

import os
import sys
from pathlib import Path

# Python puts the current folder first. In a folder from others, its files would be imported instead of packages.
if sys.path and sys.path[0] in ("", os.getcwd()) and Path(__file__).parent.parent != Path(sys.path[0] or os.getcwd()):
    del sys.path[0]

from sfumato.cli import main

if __name__ == "__main__":
    main()
