"""`python -m wisp` is the `wisp` command."""

from wisp.launch import entry

entry()
