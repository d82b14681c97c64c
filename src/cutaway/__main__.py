"""`python -m cutaway` is `cutaway`."""

from cutaway.cli.main import main

main()
