"""Whether a folder is trusted: a record of what a person decided, bound to the folder itself.

Pure: the host keeps the records and looks at the disk.
"""

from __future__ import annotations

from typing import Literal

import msgspec

TrustState = Literal["trusted", "revoked", "undecided"]


class Identity(msgspec.Struct, frozen=True):
    """A folder as the file system knows it; a folder that was replaced under the same name differs."""

    path: str
    """Resolved, absolute."""
    device: int
    inode: int
    owner: int


class TrustRecord(msgspec.Struct, frozen=True):
    """One decision about one folder."""

    identity: Identity
    trusted: bool
    at: str
    executing: str = ""
    """Digest of the project's settings that could run something, as they were agreed to; empty for none."""


def approved_digest(identity: Identity, records: tuple[TrustRecord, ...]) -> str:
    """What was agreed to with the newest decision about this folder."""
    for record in reversed(records):
        if record.identity == identity:
            return record.executing if record.trusted else ""
    return ""


def state_of(identity: Identity, records: tuple[TrustRecord, ...]) -> TrustState:
    """The newest decision about exactly this folder.  A parent's trust does not extend to it."""
    for record in reversed(records):
        if record.identity == identity:
            return "trusted" if record.trusted else "revoked"
    return "undecided"
