"""What a killed run left in the temporary folder is taken away by the next; what is in use or others' stays."""

from __future__ import annotations

import os
from pathlib import Path

from wisp.workspace.sandbox.leftover import PREFIX, YOUNG, sweep


def test_only_old_folders_that_nobody_holds_go(tmp_path: Path) -> None:
    import fcntl

    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("")
    for name in ("dead", "alive", "others"):
        (tmp_path / (PREFIX + name) / "tmp").mkdir(parents=True)
    (tmp_path / (PREFIX + "link")).symlink_to(outside)
    (tmp_path / (PREFIX + "dead") / "tmp" / "link").symlink_to(outside)
    (tmp_path / (PREFIX + "file")).write_text("")
    if os.geteuid() == 0:
        os.chown(tmp_path / (PREFIX + "others"), 65534, 65534)
    hold = os.open(tmp_path / (PREFIX + "alive"), os.O_RDONLY)
    fcntl.flock(hold, fcntl.LOCK_SH)
    now = (tmp_path / (PREFIX + "others")).stat().st_ctime_ns

    sweep(str(tmp_path), now + YOUNG // 2)
    assert (tmp_path / (PREFIX + "dead")).exists(), "just made: its run may not have locked it yet"
    sweep(str(tmp_path), now + 2 * YOUNG)
    left = {path.name.removeprefix(PREFIX) for path in tmp_path.glob(PREFIX + "*")}
    assert left == {"alive", "link", "file", *(["others"] if os.geteuid() == 0 else [])}
    assert (outside / "kept").exists()
    os.close(hold)
