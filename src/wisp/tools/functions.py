"""Tools made of annotated functions: the name, the words and the schema come from the function itself.

    @tool(effect="read")
    def weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
        '''The weather of a city.

        Args:
            city: its English name.
        '''

What a function raises is told to the model.  Knows nothing of who offers the tool or allows a call.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, Literal, ParamSpec, TypeVar, overload

import msgspec

from wisp.messages.codec import ascii_json, clean
from wisp.messages.content import Text
from wisp.messages.tool import Effect, Replay, ToolFailure, ToolOutcome, ToolSpec
from wisp.tools.base import Prepared, RunContext, Tool
from wisp.tools.render import MAX_BYTES, clip_bytes
from wisp.tools.shapes import plain_value
from wisp.tools.signature import Signature
from wisp.workspace.stop import Stopped

P = ParamSpec("P")
R = TypeVar("R")

Effects = Literal["read", "ask"] | Callable[[dict[str, Any]], Sequence[Effect]]
"""`read`: a call changes nothing and is never asked about.  `ask`: a person, a mode or a rule decides.  A
function is given the call's arguments as JSON values and says exactly what this call would do."""

GRACE = 0.4
"""Seconds that a function in a thread has to end after it was told to stop."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class FunctionTool(Generic[P, R]):
    """A function that the model can call; calling it in Python calls the function.  See `tool`."""

    def __init__(
        self,
        function: Callable[P, R],
        name: str,
        description: str,
        effect: Effects,
        *,
        parallel: bool,
        replay: Replay,
    ) -> None:
        shown = name or str(getattr(function, "__name__", ""))
        if not _NAME.fullmatch(shown):
            raise TypeError(f"{shown!r} is no tool's name; give one of letters, digits, _ and - with name=")
        made = inspect.unwrap(function)
        if inspect.isgeneratorfunction(made) or inspect.isasyncgenfunction(made):
            raise TypeError(f"{shown}: a generator cannot be a tool; return one value")
        if parallel and effect == "ask":
            raise TypeError(f"{shown}: only calls without effects run beside others; say effect='read' too")
        self._function = function
        self._signature = Signature(function, shown)
        self._effect = effect
        self.parallel_safe = parallel
        self.replay = replay
        self.spec = ToolSpec(shown, description or self._signature.about or shown, self._signature.schema)
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The function itself."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.spec.name}>"

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Decode the arguments and say what the call would do.

        Raises:
            ToolFailure: `invalid_arguments`, naming the argument.
        """
        name = self.spec.name
        plain = self._signature.plain(arguments)
        self._signature.decoded(plain)  # what cannot be decoded again is refused before anybody is asked
        asynchronous = inspect.iscoroutinefunction(inspect.unwrap(self._function))
        shown = ", ".join(f"{key}={_brief(value)}" for key, value in plain.items())
        return Prepared(
            tool=name,
            arguments=plain,
            effects=self._effects(plain),
            run=functools.partial(self._awaited if asynchronous else self._threaded, plain),
            summary=f"{name}({shown})",
            preview="\n".join(
                [f"call the function {name}", *(f"{k}: {_whole(v)}" for k, v in plain.items())]
            ),
        )

    def _effects(self, arguments: dict[str, Any]) -> tuple[Effect, ...]:
        if callable(self._effect):
            return tuple(self._effect(arguments))
        return (Effect(self._effect, self.spec.name),)

    async def _awaited(self, arguments: dict[str, Any], context: RunContext) -> ToolOutcome:
        args, kwargs = self._values(arguments, context)
        function: Callable[..., Any] = self._function
        try:
            returned = await function(*args, **kwargs)
        except (ToolFailure, Stopped, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as exc:  # in any way, `sys.exit()` too: it would take the event loop along
            raise _failure(exc) from exc
        return self._outcome(returned)

    async def _threaded(self, arguments: dict[str, Any], context: RunContext) -> ToolOutcome:
        args, kwargs = self._values(arguments, context)
        done = _in_thread(functools.partial(self._function, *args, **kwargs), f"wisp-tool-{self.spec.name}")
        try:
            return self._outcome(await asyncio.shield(done))
        except asyncio.CancelledError:
            context.stop.stop()
            await asyncio.wait([done], timeout=GRACE)
            if done.done():
                return self._outcome(done.result())
            done.cancel()
            said = (
                f"stopped: the user interrupted; {self.spec.name} does not listen and may go on for a while"
            )
            raise ToolFailure("cancelled", said) from None

    def _values(self, arguments: dict[str, Any], context: RunContext) -> tuple[list[Any], dict[str, Any]]:
        """Decoded anew, so that a function may do with its values what it wants."""
        args, kwargs = self._signature.decoded(arguments)
        if self._signature.context:
            kwargs[self._signature.context] = context
        return args, kwargs

    def _outcome(self, returned: Any) -> ToolOutcome:
        if isinstance(returned, ToolOutcome):
            return returned
        try:
            text = _text(returned)
        except Exception as exc:  # too deep, or a value's own methods fail: anything a program can make
            said = f"{self.spec.name} returned what cannot be told: {_words(exc) or type(exc).__name__}"
            raise ToolFailure("failed", said) from exc
        return ToolOutcome((Text(_cut(text)),))


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str = "",
    description: str = "",
    effect: Effects = "ask",
    parallel: bool = False,
    replay: Replay | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    effect: Effects = "ask",
    parallel: bool = False,
    replay: Replay | None = None,
) -> Any:
    """Make a function, plain or `async`, a tool.

    The schema comes from the annotations, the words from the docstring or from `Annotated[int, "words"]`.  A
    parameter annotated `RunContext` is not shown to the model and gets the call's context.  What is returned
    is told as text, or as JSON where it is none; `ToolOutcome` is taken as it is.

    Args:
        name: what the model calls it; the function's own name if empty.
        description: instead of the docstring's.
        effect: what a call does, see `Effects`.  Without a statement a call is asked about.
        parallel: calls may run beside each other; only of calls without effects.
        replay: whether a call that was interrupted by a crash may simply be run again; None: `safe` where a
            call changes nothing.

    Raises:
        TypeError: the function cannot be described to a model; says what of it.
    """

    def made(function: Callable[..., Any]) -> FunctionTool[..., Any]:
        again: Replay = "safe" if effect == "read" else "never"
        return FunctionTool(function, name, description, effect, parallel=parallel, replay=replay or again)

    return made if function is None else made(function)


def as_tool(given: Tool | Callable[..., Any]) -> Tool:
    """`given` where it is a tool, and a tool whose calls are asked about where it is a function.

    Raises:
        TypeError: it is neither.
    """
    if hasattr(given, "spec") and hasattr(given, "prepare"):
        return given  # type: ignore[return-value]
    if not callable(given):
        raise TypeError(f"{given!r} is neither a tool nor a function")
    made: Tool = tool(given)
    return made


def _in_thread(function: Callable[[], Any], name: str) -> asyncio.Future[Any]:
    """Call `function` in a thread of its own: one that does not listen delays neither a stop nor the exit."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    copied = contextvars.copy_context()

    def settle(returned: Any, failed: Exception | None) -> None:
        if done.done():
            return
        if failed is None:
            done.set_result(returned)
        else:
            done.set_exception(failed)

    def work() -> None:
        returned, failed = None, None
        try:
            returned = copied.run(function)
        except (ToolFailure, Stopped) as exc:
            failed = exc
        except BaseException as exc:  # `sys.exit()` too: a tool does not end the program
            failed = _failure(exc)
        with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
            loop.call_soon_threadsafe(settle, returned, failed)

    threading.Thread(target=work, name=name, daemon=True).start()
    return done


def _failure(exc: BaseException) -> ToolFailure:
    said = _words(exc)
    return ToolFailure("failed", f"{type(exc).__name__}: {said}" if said else type(exc).__name__)


def _words(exc: BaseException) -> str:
    """What an exception says; it comes from a person's function, and so may fail to say anything."""
    try:
        said = str(exc)
    except Exception:  # its own `__str__` fails: its type is what can be told
        return ""
    return _cut(clean(said).strip())


def _cut(text: str) -> str:
    size = len(text.encode("utf-8", "replace"))
    if size <= MAX_BYTES:
        return text
    return f"{clip_bytes(text, MAX_BYTES)}\n[cut: the first {MAX_BYTES:,} of {size:,} bytes]"


def _text(returned: Any) -> str:
    if returned is None:
        return "done"
    if isinstance(returned, str):
        return clean(returned)
    return clean(msgspec.json.encode(returned, enc_hook=plain_value).decode("utf-8", "replace"))


def _brief(value: Any) -> str:
    text = ascii_json(value).decode()
    return text if len(text) <= 60 else f"{text[:57]}..."


def _whole(value: Any) -> str:
    return clean(value) if isinstance(value, str) else ascii_json(value).decode()
