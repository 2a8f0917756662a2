"""Running hooks: which of them an event concerns, all of them side by side, and how each of them ended.

Knows the documented protocol's outer half: JSON on standard input, exit codes, where an answer is JSON.  What
an answer means for an event is `host/hooks.py`'s and `host/hooking.py`'s.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from wisp.host.tables import EVENTS, GUARDS, Hook, HookGroup
from wisp.loop.settle import uncancelled
from wisp.messages.codec import NotAnObject, ascii_json, clean, strict_object
from wisp.messages.ids import Clock
from wisp.workspace.box import Box
from wisp.workspace.errors import Refused
from wisp.workspace.files import read_whole
from wisp.workspace.process import quiet_environment, run
from wisp.workspace.root import Workspace
from wisp.workspace.stop import StopToken

DEFAULT_TIMEOUT = 60.0
LEAVING_TIMEOUT = 1.5
"""Seconds for a hook of `SessionEnd` that names none: somebody waits for the program to end."""
MOST_OUTPUT = 1 << 20
MOST_TOLD = 10_000
"""Characters of a hook's words that a model or a person is told."""
MOST_AT_ONCE = 32
_EXACT = re.compile(r"[\w\-, |]*", re.ASCII)

CALLS = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"})


class Ran(msgspec.Struct, frozen=True):
    """How one hook ended."""

    command: str
    code: int | None
    """None when it was ended, or could not be started."""
    out: str
    err: str
    said: dict[str, Any] | None = None
    """The answer of a function, which needs no text."""

    @property
    def answer(self) -> dict[str, Any]:
        """The JSON decision in its output; empty where there is none."""
        if self.said is not None:
            return self.said
        if self.code != 0 or not self.looks_like_json:
            return {}
        try:
            return strict_object(self.out)
        except NotAnObject:  # also what is nested so deeply that nothing could pass it on
            return {}

    @property
    def looks_like_json(self) -> bool:
        """Whether its output was meant as an answer."""
        return self.out.lstrip().startswith("{")

    @property
    def own(self) -> dict[str, Any]:
        """The part of the answer that belongs to the event."""
        found = self.answer.get("hookSpecificOutput")
        return found if isinstance(found, dict) else {}

    @property
    def halts(self) -> str:
        """Why the whole run is to end; empty where it is not."""
        answer = self.answer
        if answer.get("continue") is not False:
            return ""
        return short(str(answer.get("stopReason") or answer.get("reason") or "")) or "it gave no reason"

    @property
    def blocks(self) -> str:
        """Why what the event announced is not to happen; empty where it may."""
        if self.code == 2:
            return short(self.err) or "it gave no reason"
        if self.answer.get("decision") != "block":
            return ""
        return short(str(self.answer.get("reason") or "")) or "it gave no reason"

    @property
    def context(self) -> str:
        """What the model is to know besides."""
        found = self.own.get("additionalContext")
        return short(found) if isinstance(found, str) else ""


class Function(msgspec.Struct, frozen=True):
    """A hook in this process, which an extension brings."""

    event: str
    name: str
    """For people."""
    call: Callable[[dict[str, Any]], Awaitable[Any]]
    """Gets what a command gets on standard input; returns what a command would answer, or None.  Ends at its
    own limit of time."""
    matcher: str = ""


class Runner:
    """Runs the hooks of one conversation.

    Args:
        groups: by event name, as the settings have them.
        workspace: where commands start.
        env: their environment.
        shell: what runs them.
        box: where those of a project run; None runs them plainly.
    """

    def __init__(
        self,
        groups: Mapping[str, Sequence[HookGroup]],
        workspace: Workspace,
        env: Mapping[str, str],
        clock: Clock,
        shell: str = "/bin/bash",
        box: Box | None = None,
    ) -> None:
        self._groups, self._box = groups, box
        self._workspace = workspace
        self._clock = clock
        self._shell = shell
        self._env = quiet_environment({**env, "CLAUDE_PROJECT_DIR": workspace.cwd})
        self._pool: ThreadPoolExecutor | None = None
        self._aside: set[asyncio.Future[Any]] = set()
        self.functions: Sequence[Function] = ()
        self.facts: Callable[[], dict[str, Any]] = dict
        self.tell: Callable[[str], None] = lambda said: None
        self.mask: Callable[[str], str] = lambda text: text
        """Takes credentials out of what hooks are told and say."""

    @property
    def notes(self) -> list[str]:
        """A note for each event whose hooks are not run: a guard that silently is none would be worse."""
        known = ", ".join(sorted(EVENTS))
        return [
            f"hooks of {event} are not run; those of {known} are"
            for event in self._groups
            if event not in EVENTS
        ]

    def any(self, event: str, *values: str) -> bool:
        """Whether any hook is concerned; `values` as for `run`."""
        return bool(self._matching(event, values))

    async def run(
        self, event: str, more: Mapping[str, Any], *values: str, facts: Mapping[str, Any] | None = None
    ) -> list[Ran]:
        """Run all hooks that an event concerns side by side; what failed is told.

        Args:
            more: the event's own fields.
            values: what matchers are held against: our name of a tool and then the protocol's, or the kind of
                the event; none where the event has no kinds.
            facts: fields for everybody, besides those that are always there.
        """
        found = self._matching(event, values)
        if not found:
            return []
        base = {
            **self.facts(),
            **(facts or {}),
            "cwd": self._workspace.cwd,
            "hook_event_name": event,
            **more,
        }
        payload = self.masked(base)
        named = event in CALLS
        work = []
        for hook, value in found:
            sent = {**payload, "tool_name": value} if named else payload
            if isinstance(hook, Hook) and hook.background and event != "SessionEnd":
                self._put_aside(self._one(event, hook, sent))
            else:
                work.append(self._one(event, hook, sent))
        ended = await asyncio.gather(*work)
        for ran in ended:
            self._report(event, ran)
        return ended

    def masked(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Fields as hooks are told them."""
        found: dict[str, Any] = _masked(fields, self.mask)
        return found

    def _report(self, event: str, ran: Ran) -> None:
        if ran.code not in (0, 2):
            how = "was ended" if ran.code is None else f"failed with exit code {ran.code}"
            self.tell(f"the {event} hook {ran.command!r} {how}: {short(ran.err)}")
        elif ran.code == 0 and ran.looks_like_json and not ran.answer and ran.out.strip() != "{}":
            self.tell(
                f"the {event} hook {ran.command!r} answered with what is no JSON object: {ran.out[:200]!r}"
            )
        elif isinstance(said := ran.answer.get("systemMessage"), str) and said.strip():
            self.tell(f"{event} hook: {short(said)}")

    def _put_aside(self, work: Awaitable[Ran]) -> None:
        task = asyncio.ensure_future(work)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)

    async def close(self) -> None:
        """End what still runs in the background, and let the threads go."""
        for task in self._aside:
            task.cancel()
        if self._aside:
            await asyncio.wait(self._aside)
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    # -- which --------------------------------------------------------------------------------------------

    def _matching(self, event: str, values: Sequence[str]) -> list[tuple[Hook | Function, str]]:
        """Each hook once, with the value that its matcher has: of a tool, the name by which it is told."""
        found: dict[Any, tuple[Hook | Function, str]] = {}
        for group in self._groups.get(event, ()):
            if (value := matched(group.matcher, values)) is not None:
                for hook in group.hooks:
                    found.setdefault((hook.command, hook.args), (hook, value))
        for function in self.functions:
            if function.event == event and (value := matched(function.matcher, values)) is not None:
                found[id(function)] = (function, value)
        return list(found.values())

    # -- running ------------------------------------------------------------------------------------------

    async def _one(self, event: str, hook: Hook | Function, payload: Mapping[str, Any]) -> Ran:
        if isinstance(hook, Function):
            return await self._function(hook, dict(payload))
        limit = hook.timeout or (LEAVING_TIMEOUT if event == "SessionEnd" else DEFAULT_TIMEOUT)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(MOST_AT_ONCE, "wisp-hook")
        stop = StopToken()
        loop = asyncio.get_running_loop()
        sent = ascii_json(dict(payload))
        work = loop.run_in_executor(self._pool, self._command, event, hook, sent, limit, stop)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            stop.stop()
            await uncancelled(asyncio.wait([work]))
            if not work.cancelled():
                work.exception()
            raise

    @staticmethod
    async def _function(hook: Function, payload: dict[str, Any]) -> Ran:
        try:
            said = await hook.call(payload)
        except Exception as exc:  # an extension's fault is told and blocks nothing, as a command's is
            return Ran(hook.name, None, "", f"{type(exc).__name__}: {exc}")
        if said is None or isinstance(said, dict):
            return Ran(hook.name, 0, "", "", said or {})
        if isinstance(said, str):
            return Ran(hook.name, 0, said, "")
        return Ran(hook.name, None, "", f"it returned {type(said).__name__}, not a dict, a str or None")

    def _changed(self, hook: Hook) -> str:
        """Which file of a hook is not what it was approved as; empty for none."""
        for path, digest in hook.files.items():
            try:
                now = read_whole(self._workspace, self._workspace.place(path), MOST_OUTPUT).digest
            except Refused:
                now = ""
            if now != digest:
                why = f"{path}, which the hook runs, changed since it was approved"
                return f"{why}; look at it, then 'wisp trust allow'"
        return ""

    def _command(self, event: str, hook: Hook, payload: bytes, limit: float, stop: StopToken) -> Ran:
        out, err = bytearray(), bytearray()

        def into(buffer: bytearray) -> Callable[[bytes], bool]:
            def take(piece: bytes) -> bool:
                buffer.extend(piece)
                return len(buffer) <= MOST_OUTPUT

            return take

        if changed := self._changed(hook):
            return Ran(hook.command, 2 if event in GUARDS else None, "", changed)
        argv = [self._shell, "-c", hook.command]
        if hook.args is not None:
            argv = [_placed(word, self._workspace.cwd) for word in (hook.command, *hook.args)]
        try:
            folder = os.open(self._workspace.cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as exc:
            return Ran(hook.command, None, "", f"{self._workspace.cwd}: {exc.strerror}")
        try:
            with tempfile.TemporaryFile() as stdin:
                stdin.write(payload)
                stdin.seek(0)
                more: dict[str, Any] = {
                    "env": self._env,
                    "timeout": limit,
                    "stop": stop,
                    "stdin": stdin.fileno(),
                }
                more |= {"output": into(out), "errors": into(err)}
                if hook.of_project and self._box is not None and self._box.prove().kind != "none":
                    ending, new = self._box.run(argv, **more)
                    err += f"\nit made {', '.join(new.names)}".encode() if new.names else b""
                    err += "".join(f"\n{words}" for words in new.said).encode()
                else:
                    ending = run(argv, cwd=folder, now=self._clock.monotonic, **more)
        except (Refused, OSError) as exc:
            return Ran(hook.command, None, "", str(exc))
        finally:
            os.close(folder)
        why = {"timeout": f"it took longer than {limit:g} s", "enough": "it wrote more than 1 MiB"}
        said = why.get(ending.how, "") or err.decode("utf-8", "replace")
        code = ending.code if ending.how == "exited" else None
        return Ran(hook.command, code, self.mask(out.decode("utf-8", "replace")), self.mask(said))


def listed(groups: Mapping[str, Sequence[HookGroup]]) -> list[dict[str, str]]:
    """Each hook of the settings in a row of words."""
    return [
        {
            "event": event + ("" if event in EVENTS else " (not run)"),
            "matcher": group.matcher,
            "command": " ".join((hook.command, *(hook.args or ()))),
            "source": "the project, as approved" if hook.of_project else "your settings",
        }
        for event, of_event in sorted(groups.items())
        for group in of_event
        for hook in group.hooks
    ]


def matched(matcher: str, values: Sequence[str]) -> str | None:
    """The first of `values` that a matcher has; None where it has none.

    Follows the protocol: nothing or `*` is everything; letters, digits, `_`, `-`, spaces, commas and `|` are
    a list of whole names; anything else is a regular expression that may match anywhere.  Of a tool the
    second name is the protocol's, which is the one where nothing is named.
    """
    usual = values[min(1, len(values) - 1)] if values else ""
    if not values or matcher in ("", "*"):
        return usual
    if _EXACT.fullmatch(matcher):
        names = {name.strip() for name in re.split(r"[|,]", matcher)}
        return next((value for value in values if value in names), None)
    try:
        return next((value for value in values if re.search(matcher, value)), None)
    except re.error:
        return usual  # a guard whose pattern is broken guards everything


def _masked(value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(mask(value))
    if isinstance(value, Mapping):
        return {name: _masked(item, mask) for name, item in value.items()}
    return [_masked(item, mask) for item in value] if isinstance(value, list | tuple) else value


def _placed(word: str, folder: str) -> str:
    return word.replace("${CLAUDE_PROJECT_DIR}", folder)


def short(text: str) -> str:
    """A hook's words as they are told."""
    text = clean(text.strip())
    return text if len(text) <= MOST_TOLD else f"{text[:MOST_TOLD]} (cut)"
