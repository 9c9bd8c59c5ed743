"""`python -m sill` is the `sill` command."""

import sys

from .cli import main

sys.exit(main())
