"""Repositories that commands make: kept where they can do no harm, set aside where they could.

At the top of the workspace a missing `.git` is played by a folder of ours, the same for all commands of a
run; what a command made there is moved to its place once no command runs that could still change it, and
only if it is inert.  Deeper down nothing can stand in for a folder that is not there yet: there a new `.git`
or bare repository is looked at after the command, and renamed when it is not inert.  Nothing is deleted.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Container, Iterable, Sequence

from wisp.workspace.root import Root
from wisp.workspace.sandbox.inert import faults
from wisp.workspace.sandbox.reopening import open_folder
from wisp.workspace.sandbox.watch import BARE_NAMES

ASIDE = ".git-set-aside"
_SHOWN = 4


class NewRepositories:
    """What the commands of one run made; `top` is a private folder of ours."""

    def __init__(self, roots: Sequence[Root]) -> None:
        self._handles = roots
        self._roots = tuple(root.path for root in roots)
        self.loose: set[str] = set()
        """Repositories that a command which still runs could change."""
        self._staged: dict[str, str] = {}

    def stage(self, top: str) -> dict[str, str]:
        """The folder that plays `.git`, for each root that has none; made beneath `top`."""
        for number, root in enumerate(self._roots):
            if root not in self._staged:
                self._staged[root] = os.path.join(top, f"git-{number}")
            os.makedirs(self._staged[root], 0o755, exist_ok=True)
        return dict(self._staged)

    def settle(self, fresh: Iterable[str], guarded: Container[str], *, alone: bool) -> list[str]:
        """After a command: take over what is inert, set aside what is not; what there is to be said.

        Args:
            fresh: protected names that are new since it began.
            guarded: those that were there before.
            alone: no other command is running; what is found inert now stays so.
        """
        self.loose |= set(filter(None, map(_repository, fresh)))
        said = []
        if alone:  # first, because worktrees and submodules point there
            said = [words for root, made in self._staged.items() if (words := self._take_over(root, made))]
        said += [words for path in sorted(self.loose) if (words := self._look_at(path, guarded, alone))]
        if alone:
            self.loose.clear()
        return said

    def forget(self) -> None:
        """The private folder is gone."""
        self._staged.clear()

    def _look_at(self, path: str, guarded: Container[str], alone: bool) -> str:
        """By the handle of the folder it is in: a command that still runs cannot lead us elsewhere."""
        folder, name = os.path.split(path)
        fd = open_folder(self._handles, folder)
        if fd is None:
            return ""
        here = f"/proc/self/fd/{fd}"
        try:
            if not alone and os.path.isfile(os.path.join(here, name)) and self._waits():
                return ""  # what it points to may be in a folder of ours still
            found = list(faults(os.path.join(here, name), path, self._roots, guarded))
            if not found:
                return ""
            if name.casefold() != ".git":
                _disable(os.path.join(here, name))
                return (
                    f"{path} could make git run something ({_few(found)}): its HEAD was renamed to HEAD.off"
                )
            to = _free(here)
            os.rename(name, to, src_dir_fd=fd, dst_dir_fd=fd)
            _disable(os.path.join(here, to))
            return _set_aside(path, os.path.join(folder, to), found)
        except OSError as exc:
            return f"{path} could make git run something and cannot be set aside: {exc.strerror}"
        finally:
            os.close(fd)

    def _waits(self) -> bool:
        """Whether a repository is still to be taken over."""
        return any(os.path.lexists(os.path.join(made, "HEAD")) for made in self._staged.values())

    def _take_over(self, root: str, made: str) -> str:
        place = os.path.join(root, ".git")
        if not os.path.lexists(os.path.join(made, "HEAD")) or os.path.lexists(place):
            return ""
        found = list(faults(made, place, self._roots))
        to = os.path.join(root, _free(root)) if found else place
        try:
            os.mkdir(to)  # fails where somebody was quicker
            for name in sorted(os.listdir(made), key=_head_last):
                shutil.move(os.path.join(made, name), os.path.join(to, name))
        except OSError as exc:
            return f"the new repository {place} could not be put in its place whole: {exc}"
        if not found:
            return f"the new repository {place} was taken over; its configuration stays as it is from here on"
        _disable(to)
        return _set_aside(place, to, found)


def _repository(path: str) -> str:
    """The repository that a new protected name belongs to; empty for none."""
    name = os.path.basename(path)
    if name.casefold() == ".git":
        return path
    return os.path.dirname(path) if name in BARE_NAMES else ""


def _head_last(name: str) -> bool:
    """Without it git sees no repository."""
    return name == "HEAD"


def _disable(path: str) -> None:
    """Without its `HEAD` it is no repository, also for who goes into the folder."""
    try:
        os.rename(os.path.join(path, "HEAD"), os.path.join(path, "HEAD.off"))
    except OSError:
        pass  # a pointer, or there is none


def _set_aside(path: str, to: str, found: Sequence[str]) -> str:
    return (
        f"{path} could make git run something ({_few(found)}): it was renamed to {to}, "
        "with HEAD as HEAD.off; the user may look at it and rename both back"
    )


def _few(found: Sequence[str]) -> str:
    more = f", and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more


def _free(folder: str) -> str:
    """A name that is not taken in `folder` yet."""
    number = 1
    while os.path.lexists(os.path.join(folder, f"{ASIDE}-{number}")):
        number += 1
    return f"{ASIDE}-{number}"
