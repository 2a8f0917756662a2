"""The judges of chapters 1 to 5."""

from __future__ import annotations

import asyncio
import random
import tempfile
from pathlib import Path

from examples.crafting_agents.checkpoint_01 import PROMPT, TOOLS, execute
from examples.crafting_agents.core import Message, ScriptedProvider, ScriptMismatch, ToolCall, run_agent
from examples.crafting_agents.workbench import PROJECT, dispatch, make_handlers
from examples.crafting_agents.workbench import TOOLS as WORKBENCH_TOOLS

from .judging import Answer, Exercise, Wrong, demand, equal


class Inspected:
    """A provider that keeps every request it was sent."""

    def __init__(self, provider: ScriptedProvider) -> None:
        self.provider = provider
        self.requests: list[tuple[Message, ...]] = []

    async def complete(self, history, tools):  # type: ignore[no-untyped-def]
        self.requests.append(tuple(history))
        return await self.provider.complete(history, tools)


def judge_1_1(answer: Answer) -> None:
    """Two failed reads, told apart, each relied on by the answer behind it."""
    lines: list[str] = []
    provider = Inspected(answer["make_provider"]())
    try:
        result = asyncio.run(run_agent(PROMPT, provider, TOOLS, execute, report=lines.append))
    except ScriptMismatch as mismatch:
        raise Wrong(f"the run left your script: {mismatch}") from mismatch
    results = [row for row in result.history if row.role == "tool"]
    equal(len(provider.requests), 4, "turns")
    equal([row.content.startswith("error:") for row in results], [True, True, False], "which reads failed")
    equal(len({row.tool_call_id for row in results}), 3, "different call ids")
    demand("needs addition" in result.history[-1].content, "the diagnosis is not the same")
    for number in (1, 2, 3):
        broken = answer["make_provider"]()
        try:
            asyncio.run(run_agent(PROMPT, broken, TOOLS, _losing(number), report=lambda line: None))
        except ScriptMismatch:
            continue
        raise Wrong(f"result {number} can be lost on the way, and your script does not notice")


def _losing(number: int):  # type: ignore[no-untyped-def]
    """An executor whose result of this number says nothing."""
    seen: list[ToolCall] = []

    def run(call: ToolCall) -> str:
        seen.append(call)
        return "nothing" if len(seen) == number else execute(call)

    return run


def judge_1_2(answer: Answer) -> None:
    """Compare with a plain reading of the rule, on small conversations of every kind."""
    unanswered = answer["unanswered"]
    ask = Message("assistant", "", (ToolCall("a", "t", {}), ToolCall("b", "t", {})))
    again = Message("assistant", "", (ToolCall("c", "t", {}),))
    row = {name: Message("tool", "x", tool_call_id=name) for name in "abc"}
    user = Message("user", "hm")
    equal(unanswered([]), [], "an empty conversation")
    equal(unanswered([user, ask, row["a"], row["b"], again, row["c"]]), [], "a conversation in order")
    equal(unanswered([ask, row["b"], row["a"]]), [], "results in another order")
    equal(unanswered([ask]), ["a", "b"], "an answer at the end")
    equal(unanswered([ask, row["a"], user, row["b"]]), ["b"], "a result behind a user row is too late")
    equal(unanswered([ask, row["a"], again, row["c"]]), ["b"], "an earlier exchange with a gap")
    equal(unanswered([ask, user, again]), ["a", "b", "c"], "two exchanges without results")


def in_project(work):  # type: ignore[no-untyped-def]
    """Run something on a fresh copy of the project."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for name, text in PROJECT.items():
            (root / name).write_text(text, encoding="utf-8")
        return work(root)


def judge_2_1(answer: Answer) -> None:
    """The first edit fails and changes nothing; a read stands before the second; a test comes last."""
    calls: list[tuple[str, str]] = []

    def work(root: Path) -> str:
        handlers = make_handlers(root)

        def carry_out(call: ToolCall) -> str:
            try:
                observation = dispatch(call, WORKBENCH_TOOLS, handlers)
            except Exception as failure:
                calls.append((call.name, f"error: {failure}"))
                raise
            calls.append((call.name, observation))
            return observation

        provider = ScriptedProvider(tuple(answer["SCRIPT"]))
        try:
            run = run_agent("Fix it.", provider, WORKBENCH_TOOLS, carry_out, report=lambda line: None)
            asyncio.run(run)
        except ScriptMismatch as mismatch:
            raise Wrong(f"the run left your script: {mismatch}") from mismatch
        return (root / "calculator.py").read_text(encoding="utf-8")

    source = in_project(work)
    edits = [number for number, (name, _) in enumerate(calls) if name == "edit"]
    demand(len(edits) >= 2, "there should be a refused edit and one that works")
    demand(calls[edits[0]][1].startswith("error: old does not occur"), "the first edit should be stale")
    demand("return a + b" in source, "the file does not end repaired")
    between = [name for name, _ in calls[edits[0] : edits[-1]]]
    demand("read" in between, "after a stale edit the model should look at the file before it edits again")
    demand(
        calls[-1][0] == "test" and calls[-1][1].startswith("exit=0"), "the last thing done should be a test"
    )


def judge_2_2(answer: Answer) -> None:
    """Compare with a slow search for the longest end that fits."""
    bound_tail = answer["bound_tail"]

    def slow(text: str, max_bytes: int, max_lines: int) -> str:
        for start in range(len(text) + 1):
            end = text[start:]
            if len(end.encode()) <= max_bytes and len(end.splitlines()) <= max_lines:
                return end
        return ""

    coin = random.Random(1)
    cases = [
        ("ab\ncd\n", 100, 1),
        ("äöü", 3, 9),
        ("a\nb\nc", 9, 2),
        ("x" * 9, 9, 1),
        ("", 0, 0),
        ("é", 0, 1),
        ("a", 9, 0),
    ]
    for _ in range(300):
        text = "".join(coin.choice("aé\n€") for _ in range(coin.randrange(12)))
        cases.append((text, coin.randrange(14), coin.randrange(5)))
    for text, max_bytes, max_lines in cases:
        what = f"bound_tail({text!r}, max_bytes={max_bytes}, max_lines={max_lines})"
        wanted = slow(text, max_bytes, max_lines)
        equal(bound_tail(text, max_bytes=max_bytes, max_lines=max_lines), (wanted, wanted != text), what)


def judge_3_1(answer: Answer) -> None:
    """A small tree with guidance at several levels, a neighbour, a link and a long file."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "project"
        where = root / "src" / "deep"
        for place in (where, root / "other"):
            place.mkdir(parents=True)
        (root / "AGENTS.md").write_text("top " * 30)
        (where / "AGENTS.md").write_text("deep")
        (root / "other" / "AGENTS.md").write_text("neighbour")
        (root.parent / "secret").write_text("secret")
        nested = answer["nested_guidance"]
        found = nested(root, where, 40)
        equal(len(found), 2, "blocks of guidance on the way to src/deep")
        demand(
            found[0].startswith("top") and len(found[0]) == 40, "the outer file should be cut to its budget"
        )
        demand("[truncated]" in found[0], "a reader should see that something was cut")
        equal(found[1], "deep", "the innermost guidance")
        equal(nested(root, root, 400), ["top " * 30], "at the top only one file counts")
        (root / "src" / "AGENTS.md").symlink_to(root.parent / "secret")
        demand("secret" not in "".join(nested(root, where, 400)), "a link led out of the project")


def judge_3_2(answer: Answer) -> None:
    """Rows that differ in content, role or calls, and rows that are equal further down."""
    common_prefix = answer["common_prefix"]
    rows = [Message("system", "s"), Message("user", "u"), Message("assistant", "a"), Message("user", "v")]
    equal(common_prefix(rows, rows), 4, "a request and itself")
    equal(common_prefix(rows, rows[:2]), 2, "a request and its beginning")
    equal(common_prefix([], rows), 0, "nothing and a request")
    other = [rows[0], Message("user", "changed"), *rows[2:]]
    equal(common_prefix(rows, other), 1, "one changed row with equal rows behind it")
    called = [*rows[:2], Message("assistant", "a", (ToolCall("1", "t", {}),)), rows[3]]
    equal(common_prefix(rows, called), 2, "the same text with a call")
    equal(common_prefix(rows, [Message("user", "s"), *rows[1:]]), 0, "the same text in another role")


def judge_4_1(answer: Answer) -> None:
    """The same stream cut into pieces in every way of two, and byte by byte."""
    stream = (
        b': hello\r\nevent: delta\r\ndata: {"a": 1}\r\n\r\ndata:one\ndata:  two\n\n'
        b"retry: 10\n\ndata: \xe2\x82\xac\n\nid: 7\ndata: [DONE]\n\ndata: cut off"
    )
    wanted = ['{"a": 1}', "one\n two", "€", "[DONE]"]
    events = answer["events"]
    for cut in range(len(stream) + 1):
        equal(events([stream[:cut], stream[cut:]]), wanted, f"the stream in two pieces, cut at byte {cut}")
    equal(events([bytes([byte]) for byte in stream]), wanted, "the stream byte by byte")
    equal(events([]), [], "no stream at all")


def judge_4_2(answer: Answer) -> None:
    """Every combination that matters."""
    may_retry = answer["may_retry"]
    for received in (False, True):
        for status in (None, 400, 401, 429, 500, 503):
            for attempt in (1, 2, 3):
                wanted = not received and attempt < 3 and status in (None, 500, 503)
                what = f"may_retry(received={received}, status={status}, attempt={attempt}, attempts=3)"
                equal(bool(may_retry(received, status, attempt, 3)), wanted, what)


def judge_5_1(answer: Answer) -> None:
    """Callbacks that change the arguments, keep them, or answer oddly."""
    approved = answer["approved"]
    wanted = {"path": "a", "old": "b", "new": "c"}
    kept: list[ToolCall] = []

    def change(call: ToolCall) -> bool:
        kept.append(call)
        if isinstance(call.arguments, dict):
            call.arguments["path"] = "/etc/passwd"
        return True

    equal(approved(ToolCall("1", "edit", dict(wanted)), change), wanted, "a callback changed the arguments")
    used = approved(ToolCall("1", "edit", dict(wanted)), change)
    if isinstance(kept[-1].arguments, dict):
        kept[-1].arguments["new"] = "later"
    equal(used, wanted, "a callback kept the arguments and changed them afterwards")
    for reply in (False, None, "no", "yes", 1, [0]):
        result = approved(ToolCall("1", "edit", dict(wanted)), lambda call, reply=reply: reply)
        equal(result, None, f"the reply {reply!r} is not a clear yes")


def judge_5_2(answer: Answer) -> None:
    """Paths out of the folder by dots, by name, and by links at either end."""
    read_beneath = answer["read_beneath"]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "project"
        beside = root.parent / "project-secret"
        for place in (root / "src", beside):
            place.mkdir(parents=True)
        (root / "src" / "a.py").write_text("a = 1")
        (beside / "key").write_text("secret")
        (root / "link").symlink_to(beside / "key")
        (root / "folder").symlink_to(beside)
        (root / "inner").symlink_to(root / "src" / "a.py")
        (root / "twin").symlink_to(root / "src")
        equal(read_beneath(root, "src/a.py"), "a = 1", "an ordinary file")
        for path in (
            "../project-secret/key",
            str(beside / "key"),
            "link",
            "folder/key",
            "inner",
            "twin/a.py",
            "src/../../project-secret/key",
        ):
            try:
                read_beneath(root, path)
            except PermissionError:
                continue
            except OSError as error:
                raise Wrong(f"{path!r} should be refused, and raised {type(error).__name__}") from error
            raise Wrong(f"{path!r} was read")
        try:
            read_beneath(root, "src/none.py")
        except OSError:
            return
        raise Wrong("a file that is not there was read")


EXERCISES = {
    "1.1": Exercise("A second failing read", ("make_provider",), judge_1_1),
    "1.2": Exercise("Calls without an answer", ("unanswered",), judge_1_2),
    "2.1": Exercise("A stale edit", ("SCRIPT",), judge_2_1),
    "2.2": Exercise("The end of a long output", ("bound_tail",), judge_2_2),
    "3.1": Exercise("Nested guidance", ("nested_guidance",), judge_3_1),
    "3.2": Exercise("What two requests share", ("common_prefix",), judge_3_2),
    "4.1": Exercise("Server-sent events", ("events",), judge_4_1),
    "4.2": Exercise("Whether to try again", ("may_retry",), judge_4_2),
    "5.1": Exercise("What was agreed to", ("approved",), judge_5_1),
    "5.2": Exercise("Below one folder", ("read_beneath",), judge_5_2),
}
