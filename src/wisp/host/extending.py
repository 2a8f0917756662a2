"""Extensions: Python code that the settings name, loaded, kept apart from each other and from the program.

Nothing is looked for: only what the settings name is loaded, and a project's only with the bytes that were
approved.  What fails is told and costs that extension alone.  The code runs in the threads of
`host/worker.py`; what it adds is collected by `host/registry.py` and wrapped in `host/isolating.py`.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import os
import sys
import types
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from functools import partial
from typing import Any

import msgspec

from wisp.context.blocks import Block, block
from wisp.host.asking import ModelService
from wisp.host.client import CommandRefused
from wisp.host.configure import Configured
from wisp.host.events import Envelope, ErrorReported, ToolExecutionEnded, wire
from wisp.host.hookrun import Function
from wisp.host.isolating import BridgedProvider, IsolatedTool
from wisp.host.plugging import extensions_of
from wisp.host.project import FILE
from wisp.host.registry import API, Command, Observer, Offered, Registry, Say
from wisp.host.settings import Settings
from wisp.host.tables import ExtensionSettings
from wisp.host.worker import MOST_QUEUED, ExtensionFailed, Worker, keep_prints_off
from wisp.loop.events import Event
from wisp.messages.ids import iso
from wisp.providers.base import ModelInfo
from wisp.tools.base import Tool

LOAD = 10.0
"""Seconds that loading an extension may take."""
ANSWER = 60.0
"""Seconds for a command."""
OBSERVE = 10.0
"""Seconds for an observer to take one event."""
LAST = 2.0
"""Seconds that all observers together have at the end."""
SHOW = 1.0
"""Seconds for a renderer, and for the text of a block."""
MOST_BYTES = 1 << 20
MOST_FAILURES = 3
"""Failures of an observer after which it is told nothing more."""
MOST_BLOCK = 20_000
"""Characters of a block."""
BUILT_IN = {"web_fetch": "wisp.host.fetching", "otel": "wisp.host.telemetry"}
"""Extensions that come with Wisp, by the name that the settings call them."""


class Loaded:
    """One extension that was loaded."""

    def __init__(self, registry: Registry, worker: Worker, source: str) -> None:
        self.registry = registry
        self.worker = worker
        self.source = source

    @property
    def told(self) -> str:
        """What it adds, in a line."""
        made = self.registry
        counts = {
            "tool": len(made.tools),
            "command": len(made.commands),
            "hook": len(made.hooks),
            "observer": len(made.observers),
            "block": len(made.blocks),
            "renderer": len(made.renderers),
            "provider": len(made.providers),
        }
        adds = ", ".join(f"{n} {what}{'s' if n > 1 else ''}" for what, n in counts.items() if n)
        return f"{self.source}: {adds or 'adds nothing'}"


class Extensions:
    """The extensions of one conversation."""

    def __init__(self) -> None:
        self.loaded: list[Loaded] = []
        self.failed: dict[str, str] = {}
        """Why one was not loaded, by name."""
        self.tell: Callable[[str], None] = self._remember
        self._said: list[str] = []
        self._queues: list[asyncio.Queue[dict[str, Any]]] = []
        self._following: list[asyncio.Future[None]] = []
        self._undo: Callable[[], None] = lambda: None

    def _remember(self, said: str) -> None:
        self._said.append(said)

    @property
    def notes(self) -> list[str]:
        """What a person should know by now."""
        wrong = [f"the extension {name!r} was not loaded: {why}" for name, why in self.failed.items()]
        return [*wrong, *self._said]

    async def load(self, configured: Configured, *, own_process: bool = False, parts: Any = None) -> None:
        """Load those that the settings name, side by side.

        Args:
            own_process: what they print is kept off standard output.
            parts: of the conversation, for extensions that come with Wisp.
        """
        tables = {n: t for n, t in extensions_of(configured.settings).items() if t.enabled}
        loop = asyncio.get_running_loop()
        if own_process:
            self._undo = keep_prints_off(lambda said: self._from_thread(loop, said))
        found = await asyncio.gather(
            *(self._one(name, table, configured, parts) for name, table in tables.items())
        )
        self.loaded = [one for one in found if one is not None]

    def _from_thread(self, loop: asyncio.AbstractEventLoop, said: str) -> None:
        """Tell a person something, from whatever thread."""
        with suppress(RuntimeError):  # the loop is gone, and nobody listens any more
            loop.call_soon_threadsafe(self._tell_now, said)

    def _tell_now(self, said: str) -> None:
        self.tell(said)

    async def _one(
        self, name: str, table: ExtensionSettings, configured: Configured, parts: Any
    ) -> Loaded | None:
        loop = asyncio.get_running_loop()

        def log(said: str) -> None:
            self._from_thread(loop, f"{name}: {said}")

        worker = Worker(name)
        own = name in BUILT_IN and not (table.path or table.module)
        registry = Registry(name, table.options, configured.cwd, log, parts if own else None)
        source = table.path or table.module or BUILT_IN.get(name, "")
        try:
            await worker.call(_load, name, table, configured, registry, timeout=LOAD)
        except ExtensionFailed as exc:
            self.failed[name] = str(exc)
            worker.close()
            return None
        return Loaded(registry, worker, source)

    # -- what they add ------------------------------------------------------------------------------------

    def tools(self, taken: set[str]) -> list[Tool]:
        """Their tools; a name that is `taken` already stays with whoever has it."""
        found: list[Tool] = []
        for one in self.loaded:
            for tool in one.registry.tools:
                if tool.spec.name in taken:
                    name = one.registry.name
                    self.tell(f"the extension {name!r}: there is a tool {tool.spec.name!r} already")
                    continue
                taken.add(tool.spec.name)
                found.append(IsolatedTool(tool, one.worker))
        return found

    def functions(self) -> list[Function]:
        """Their hooks."""
        return [
            Function(
                hook.event,
                f"{one.registry.name}.{getattr(hook.function, '__name__', 'hook')}",
                partial(one.worker.call, hook.function, timeout=hook.timeout),
                hook.matcher,
            )
            for one in self.loaded
            for hook in one.registry.hooks
        ]

    async def blocks(self) -> list[Block]:
        """Their parts of the instructions."""
        found = []
        for one in self.loaded:
            for title, text in one.registry.blocks:
                try:
                    said = text if isinstance(text, str) else await one.worker.call(text, timeout=SHOW)
                except ExtensionFailed as exc:
                    self.tell(str(exc))
                    continue
                if str(said).strip():
                    where = f"the extension {one.registry.name}: {title}"
                    found.append(block("extension", str(said)[:MOST_BLOCK], where))
        return found

    def commands(self) -> dict[str, tuple[Command, Worker]]:
        """Their slash commands, by name; of two of one name the first counts."""
        found: dict[str, tuple[Command, Worker]] = {}
        for one in self.loaded:
            for command in one.registry.commands:
                found.setdefault(command.name, (command, one.worker))
        return found

    async def command(self, name: str, typed: str) -> str | Say:
        """Do what a slash command says; the text for a person, or what is to be said to the model.

        Raises:
            LookupError: there is no such command.
            CommandRefused: it failed.
        """
        command, worker = self.commands()[name]
        try:
            said = await worker.call(command.function, typed, timeout=ANSWER)
        except ExtensionFailed as exc:
            raise CommandRefused(str(exc)) from None
        return said if isinstance(said, Say) else "" if said is None else str(said)

    def provider(self, name: str) -> tuple[Offered, BridgedProvider] | None:
        """A provider of theirs."""
        for one in self.loaded:
            if (offered := one.registry.providers.get(name)) is not None:
                return offered, BridgedProvider(name, offered.provider, one.worker)
        return None

    def service(self, settings: Settings) -> ModelService | None:
        """Whom the run asks, where the settings choose a provider of theirs."""
        name, slash, model = settings.model.partition("/")
        name, model = (settings.provider, settings.model) if settings.provider else (name, model)
        found = self.provider(name)
        if found is None or not (slash or settings.provider):
            return None
        offered, provider = found
        known = {info.id: info for info in offered.models}
        chosen = known.get(model) or (offered.models[0] if not model and offered.models else ModelInfo(model))
        return ModelService(provider, chosen)

    # -- events -------------------------------------------------------------------------------------------

    def watch(
        self, events: Callable[[], AsyncGenerator[Envelope, None]], tell: Callable[[Event], None]
    ) -> None:
        """From here on, tell a host what fails, and observers what happens there."""
        self.tell = lambda said: tell(ErrorReported(said, "extension"))
        self._follow(events)

    def _follow(self, events: Callable[[], AsyncGenerator[Envelope, None]]) -> None:
        """Tell their observers of a host's events."""
        for one in self.loaded:
            for observer in one.registry.observers:
                queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MOST_QUEUED)
                self._queues.append(queue)
                self._following += [
                    asyncio.ensure_future(self._collect(one, observer, queue, events())),
                    asyncio.ensure_future(self._deliver(one, observer, queue)),
                ]

    async def _collect(
        self,
        one: Loaded,
        observer: Observer,
        queue: asyncio.Queue[dict[str, Any]],
        events: AsyncGenerator[Envelope, None],
    ) -> None:
        lost = False
        async with aclosing(events):
            async for envelope in events:
                told = wire(envelope, iso(envelope.at))
                if observer.types and told["type"] not in observer.types:
                    continue
                try:
                    queue.put_nowait(told)
                except asyncio.QueueFull:
                    if not lost:
                        lost = True
                        name = one.registry.name
                        self.tell(f"an observer of the extension {name!r} is too slow; it misses events")

    async def _deliver(self, one: Loaded, observer: Observer, queue: asyncio.Queue[dict[str, Any]]) -> None:
        failures = 0
        while True:
            told = await queue.get()
            try:
                if failures == MOST_FAILURES:
                    continue
                await one.worker.call(observer.function, told, timeout=OBSERVE)
            except ExtensionFailed as exc:
                failures += 1
                more = "; this observer is told nothing more" if failures == MOST_FAILURES else ""
                self.tell(f"{exc}{more}")
            finally:
                queue.task_done()

    async def shown(self, event: Event) -> Event:
        """An event as people are to see it."""
        if not isinstance(event, ToolExecutionEnded):
            return event
        for one in self.loaded:
            render = one.registry.renderers.get(event.name)
            if render is None:
                continue
            try:
                said = await one.worker.call(render, msgspec.to_builtins(event), timeout=SHOW)
            except ExtensionFailed as exc:
                self.tell(str(exc))
                continue
            return msgspec.structs.replace(event, output=str(said))
        return event

    async def close(self) -> None:
        """Let them go; observers get what happened until now, where they take it within `LAST` seconds."""
        if self._queues:
            for _ in range(3):  # what was published goes into their queues
                await asyncio.sleep(0)
            ends = [asyncio.ensure_future(queue.join()) for queue in self._queues]
            _, late = await asyncio.wait(ends, timeout=LAST)
            for end in late:
                end.cancel()
        for task in self._following:
            task.cancel()
        if self._following:
            await asyncio.wait(self._following)
        for one in self.loaded:
            one.worker.close()
        self._undo()


# -- loading ----------------------------------------------------------------------------------------------


class NotLoaded(Exception):
    """An extension cannot be loaded; the message says why."""


def _load(name: str, table: ExtensionSettings, configured: Configured, registry: Registry) -> Any:
    """Import an extension and have it add what it adds; runs in a thread of the extension's."""
    module = _module(name, table, configured)
    wanted = getattr(module, "WISP_API", API)
    if wanted != API:
        raise NotLoaded(f"it is written for version {wanted!r} of the interface; this Wisp has {API}")
    extend = getattr(module, "extend", None)
    if not callable(extend):
        raise NotLoaded("it has no function extend(wisp)")
    return extend(registry)  # awaited where it is asynchronous


def _module(name: str, table: ExtensionSettings, configured: Configured) -> types.ModuleType:
    if table.path and table.module:
        raise NotLoaded("give it a path or a module, not both")
    if table.path:
        return _from_file(name, table, configured)
    if table.module and _of_project(name, configured):
        raise NotLoaded(
            "a project names its extensions by path: only a file can be held to what was approved"
        )
    named = table.module or BUILT_IN.get(name, "")
    if not named:
        raise NotLoaded(f"it has neither path nor module; of Wisp's own there are: {', '.join(BUILT_IN)}")
    if named in sys.modules and table.module:
        return importlib.reload(sys.modules[named])
    return importlib.import_module(named)


def _from_file(name: str, table: ExtensionSettings, configured: Configured) -> types.ModuleType:
    base = (
        configured.cwd if _of_project(name, configured) else os.path.dirname(configured.paths.settings_file)
    )
    path = os.path.join(base, os.path.expanduser(table.path))
    if os.path.isdir(path):
        if table.sha256:
            raise NotLoaded(f"{path} is a folder; what has a digest must be one file")
        return _package(name, path)
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise NotLoaded(f"{path} is longer than {MOST_BYTES:,} bytes")
    if table.sha256 and hashlib.sha256(data).hexdigest() != table.sha256:
        raise NotLoaded(f"{path} is not what was approved; look at it, then 'wisp trust allow'")
    module = types.ModuleType(_name(name))
    module.__file__ = path
    sys.modules[module.__name__] = module  # where dataclasses and others look for the names of annotations
    exec(compile(data, path, "exec"), module.__dict__)  # noqa: S102 - a person named this very file
    return module


def _of_project(name: str, configured: Configured) -> bool:
    return configured.resolved.origins.get(f"extensions.{name}") == FILE


def _package(name: str, path: str) -> types.ModuleType:
    for known in [one for one in sys.modules if one.partition(".")[0] == _name(name)]:
        del sys.modules[known]
    spec = importlib.util.spec_from_file_location(
        _name(name), os.path.join(path, "__init__.py"), submodule_search_locations=[path]
    )
    if spec is None or spec.loader is None:
        raise NotLoaded(f"{path} is no package")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _name(name: str) -> str:
    return f"wisp_extension_{name.replace('-', '_')}"
