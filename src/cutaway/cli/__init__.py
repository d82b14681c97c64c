"""The command line: one file per command, thin; heavy imports happen inside the commands."""
