"""`python -m autograph.tools` is the command `autograph`, as `python -m autograph` is."""

import sys

from autograph.tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
