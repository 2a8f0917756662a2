"""Records of older formats, made into records of this one while they are read.  Pure; files stay as they are.

`STEPS` holds one small function for every format before this one, from it to the next.  A step takes a record
as the mapping that its line holds, without checksum, and returns the mapping of the next format; None for a
record that means nothing any more.  It never looks at other records.

A format may add record types and fields without a new number: readers pass over what they do not know.  What
an existing field means never changes; a new meaning is a new field or type, or a new format with a step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wisp.session.records import VERSION

Step = Callable[[dict[str, Any]], dict[str, Any] | None]

STEPS: Mapping[int, Step] = {}
"""From which format; format 1 is the first."""


def migrated(
    record: dict[str, Any], version: int, steps: Mapping[int, Step] = STEPS, target: int = VERSION
) -> dict[str, Any] | None:
    """The record as format `target` has it; None where no step leads there or it means nothing any more."""
    made: dict[str, Any] | None = record
    for number in range(version, target):
        step = steps.get(number)
        if step is None or made is None:
            return None
        made = step(made)
        made = made if made is None else {**made, "v": number + 1}
    return made
