"""Wisp: a coding agent for the terminal, and a library for building with it."""

from wisp._version import __version__

__all__ = ["__version__"]
