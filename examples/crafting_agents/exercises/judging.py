"""Runs a reader's answer and says what is wrong with it.

Owns the list of exercises and the running of an answer.  The judge gets the names that the answer defines and
tries them; it never looks at the text.  Your answer runs with your rights, as any program of yours does.
"""

from __future__ import annotations

import runpy
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
Answer = Mapping[str, Any]


class Wrong(Exception):
    """What an answer does that it should not, in one sentence, without the solution."""


@dataclass(frozen=True)
class Exercise:
    """A task with a judge."""

    title: str
    needs: tuple[str, ...]
    """The names that an answer defines."""
    judge: Callable[[Answer], None]
    """Raises Wrong."""


def demand(holds: object, sentence: str) -> None:
    """Raise Wrong with this sentence unless something holds."""
    if not holds:
        raise Wrong(sentence)


def equal(found: object, wanted: object, what: str) -> None:
    """Raise Wrong unless two values are the same."""
    if found != wanted:
        raise Wrong(f"{what}: got {found!r}, and {wanted!r} is right")


def file_of(number: str, name: str) -> Path:
    """A file of an exercise: starter, solution, wrong_1 or wrong_2."""
    return HERE / number / f"{name}.py"


def check(number: str, file: Path) -> str | None:
    """Judge an answer: None when it is right, else a sentence about what is wrong."""
    exercise = EXERCISES[number]
    try:
        answer = runpy.run_path(str(file), run_name="answer")
        missing = [name for name in exercise.needs if name not in answer]
        if missing:
            return f"your file does not define {', '.join(missing)}"
        exercise.judge(answer)
    except Wrong as wrong:
        return str(wrong)
    except NotImplementedError:
        return "not done yet: the starter's NotImplementedError was raised"
    except (Exception, SystemExit) as error:
        places = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        place = f" in line {places[-1].lineno}" if places else ""
        return f"your code raised {type(error).__name__}{place}: {error}"
    return None


def _all() -> dict[str, Exercise]:
    from . import judges_a, judges_b

    return {**judges_a.EXERCISES, **judges_b.EXERCISES}


EXERCISES = _all()
