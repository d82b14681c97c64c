"""`python -m cutaway` is `cutaway`: modules of the current folder are not imported either."""

import os
import sys

import cutaway

# `python -m` puts the current folder first, and that may be somebody's corpus with a torch.py.
_here = os.path.realpath(os.getcwd())
if os.path.realpath(os.path.dirname(os.path.dirname(cutaway.__file__))) != _here:
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or ".") != _here]

from cutaway.cli.main import main  # noqa: E402

main()
