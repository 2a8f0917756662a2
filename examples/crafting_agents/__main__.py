"""Judges the exercises of the book.

python3 -m examples.crafting_agents check 1.1 my_answer.py
python3 -m examples.crafting_agents starter 1.1
python3 -m examples.crafting_agents list
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .exercises.judging import EXERCISES, check, file_of


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command and do it.  Exit status 0: solved; 1: not solved; 2: not a command."""
    parser = argparse.ArgumentParser(prog="python3 -m examples.crafting_agents", description="Exercises.")
    commands = parser.add_subparsers(dest="command", required=True)
    checking = commands.add_parser("check", help="let the judge read your answer")
    starting = commands.add_parser("starter", help="print the file to begin with")
    commands.add_parser("list", help="name all exercises")
    for command in (checking, starting):
        command.add_argument("number", choices=tuple(EXERCISES), metavar="N.M", help="such as 1.1")
    checking.add_argument("file", type=Path, help="your answer, a Python file")
    options = parser.parse_args(argv)
    if options.command == "list":
        print("\n".join(f"{number}  {exercise.title}" for number, exercise in EXERCISES.items()))
        return 0
    if options.command == "starter":
        print(file_of(options.number, "starter").read_text(encoding="utf-8"), end="")
        return 0
    if not options.file.is_file():
        parser.error(f"there is no file {options.file}")
    problem = check(options.number, options.file)
    print(f"{options.number}: {problem or 'solved'}")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
