"""Where interrupted changes of a folder are noted, and finishing them at the next start."""

from __future__ import annotations

import os

from wisp.session.catalog import folder_name


def changes_folder(cwd: str, state_folder: str) -> str:
    """The private folder of the journals of changes below `cwd`."""
    return os.path.join(state_folder, "snapshots", folder_name(cwd), "changes")


def recover(journals: str) -> list[str]:
    """Roll back what killed processes left half done; what was done, as sentences."""
    if not os.path.isdir(journals):
        return []
    from wisp.workspace.changelog import recover as roll_back

    return roll_back(journals)
