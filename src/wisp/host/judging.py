"""Holds a JSON value against a JSON Schema; also a program of its own, for schemas that could take for ever.

A schema's regular expressions may need exponential time on an answer that a model chose, and nothing can
interrupt them.  As a program it imports nothing of wisp: its input is `[schema, value]`, it prints the
fault, or an empty text, as JSON; its arguments are the folders to import from and the seconds it may compute.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from typing import Any

BROKEN = "the schema cannot be applied: "
MEMORY = 1 << 30
"""Bytes of address space that the program may have."""


def judge_of(schema: Any) -> Callable[[Any], str]:
    """Says what is wrong with a value, empty for nothing; nothing that the schema refers to is fetched."""
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    nothing: Registry[Any] = Registry()
    validator = validator_for(schema, default=Draft202012Validator)(schema, registry=nothing)

    def judge(value: Any) -> str:
        try:
            error = next(iter(validator.iter_errors(value)), None)
        except Unresolvable as exc:
            return f"{BROKEN}{exc.ref!r} is not in it"
        except RecursionError:
            return f"{BROKEN}a $ref in it leads back to itself"
        return f"{error.message[:300]} (at {error.json_path})" if error is not None else ""

    return judge


def _main(words: list[str]) -> None:
    *folders, seconds = words
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
    sys.path.extend(folders)
    schema, value = json.load(sys.stdin.buffer)
    sys.stdout.write(json.dumps(judge_of(schema)(value)))


if __name__ == "__main__":
    _main(sys.argv[1:])
