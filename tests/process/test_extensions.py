"""Extensions in the real program: what they add is there, and what is wrong with them stays with them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from process.program import Program
from process.server import ServerThread
from process.test_hooks import answers, body, until_completed

from wisp.frontends.rpc.client import RpcClient
from wisp.host.client import CommandRefused
from wisp.testing.steps import Call, Step

pytestmark = pytest.mark.process

EXAMPLE = Path(__file__).parents[2] / "examples" / "extension" / "wisp_example"
FULL = ("--permission-mode", "full", "--output-format", "stream-json")


def table(name: str, path: Path, **more: Any) -> str:
    rows = [f"[extensions.{name}]", f"path = {json.dumps(str(path))}"]
    return "\n".join([*rows, *(f"{key} = {json.dumps(value)}" for key, value in more.items())]) + "\n"


def program(folder: Path, server: ServerThread, *tables: str) -> Program:
    return Program(
        folder / "home", folder / "project", url=server.base_url("openai-chat"), more="".join(tables)
    )


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.py"
    path.write_text(text)
    return path


def events(stdout: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stdout.splitlines()]


def test_the_example_adds_each_thing_it_says_it_adds(tmp_path: Path) -> None:
    steps = answers(
        Step(
            calls=(Call("count_words", {"text": "one two three"}), Call("bash", {"command": "DROP TABLE x"}))
        ),
        Step(text="done"),
    )
    with ServerThread(steps) as server:
        wisp = program(tmp_path, server, table("example", EXAMPLE))
        done = wisp.run("-p", "go", *FULL)
        first = json.loads(body(server.requests[0]))
        second = body(server.requests[1])
    assert done.returncode == 6, "the only effect was refused"
    assert "count_words" in {tool["function"]["name"] for tool in first["tools"]}
    assert "This folder is called project." in json.dumps(first["messages"])
    assert "3 words" in second
    assert "tables are not dropped from here" in second
    ended = {e["name"]: e for e in events(done.stdout) if e["type"] == "tool.execution.ended"}
    assert ended["count_words"]["output"] == "[3 words]"
    assert "[3 words]" not in second, "the renderer is for people"


def test_a_provider_of_an_extension_answers(tmp_path: Path) -> None:
    with ServerThread([]) as server:
        wisp = program(tmp_path, server, table("example", EXAMPLE))
        done = wisp.run("-p", "a word", "--model", "echo/short")
        assert not server.requests
    assert done.stdout.strip() == "You said: a word"


@pytest.mark.parametrize(
    "leaves", ["asyncio.CancelledError", "SystemExit(3)", "GeneratorExit", "KeyboardInterrupt"]
)
@pytest.mark.parametrize("when", ["before", "within"])
def test_a_provider_of_an_extension_that_leaves_is_one_that_failed(
    leaves: str, when: str, tmp_path: Path
) -> None:
    lines = [
        "import asyncio",
        "from wisp.providers.events import Started",
        "class Leaves:",
        "    name, api = 'leaves', 'own'",
        "    async def stream(self, request):",
        *(["        yield Started('m')"] if when == "within" else []),
        f"        raise {leaves}",
        *(["        yield"] if when == "before" else []),
        "def extend(wisp):",
        "    wisp.provider('leaves', Leaves())",
    ]
    with ServerThread([]) as server:
        wisp = program(tmp_path, server, table("leaves", written(tmp_path, "leaves", "\n".join(lines))))
        done = wisp.run("-p", "go", "--model", "leaves/m", *FULL, WISP_MAX_RETRIES="0", timeout=30)
    last = events(done.stdout)[-1]
    assert (done.returncode, last["subtype"]) == (4, "error_provider"), done.stderr
    assert leaves.removeprefix("asyncio.").partition("(")[0] in str(last) + done.stdout + done.stderr


async def test_commands_reply_or_are_said_and_reload_reads_the_code_again(tmp_path: Path) -> None:
    path = written(tmp_path, "words", "def extend(wisp):\n    wisp.command('say', lambda typed: 'first')\n")
    with ServerThread(answers(Step(text="reviewed"))) as server:
        wisp = program(
            tmp_path,
            server,
            table("example", EXAMPLE, options={}).replace("{}", '{ greeting = "hi" }'),
            table("words", path),
        )
        argv = [*wisp.argv, "rpc"]
        async with await RpcClient.start(argv, cwd=str(wisp.project), env=wisp.env) as client:
            assert {"hello", "review-of", "say"} <= {command.name for command in client.commands()}
            assert (await client.slash("/hello Ada")).text == "hi, Ada"
            assert (await client.slash("/say")).text == "first"
            path.write_text("def extend(wisp):\n    wisp.command('say', lambda typed: 1 / 0)\n")
            await client.slash("/reload")
            with pytest.raises(CommandRefused, match="ZeroDivisionError"):
                await client.slash("/say")
            events = client.events()
            assert (await client.slash("/review-of x.py")).started
            assert [event async for event in until_completed(events)]
            await client.run("and now?")
            assert "turn.completed" in (await client.slash("/counts")).text
        assert any("Review x.py and name" in body(request) for request in server.requests)


BROKEN = {
    "raises": "raise RuntimeError('at import')",
    "syntax": "def extend(wisp:\n",
    "leaves": "import sys\nsys.exit(3)",
    "empty": "x = 1",
    "other": "WISP_API = 99\ndef extend(wisp): pass",
    "refused": "def extend(wisp):\n    wisp.hook('NoSuchEvent', print)",
    "untyped": "def extend(wisp):\n    wisp.tool(lambda x: x)",
}


def test_extensions_that_cannot_be_loaded_cost_themselves_alone_and_are_told(tmp_path: Path) -> None:
    good = written(tmp_path, "good", "def extend(wisp):\n    wisp.block('GOOD-IS-HERE')\n")
    tables = [table(name, written(tmp_path, name, text)) for name, text in BROKEN.items()]
    tables += [table("gone", tmp_path / "gone.py"), table("good", good), "[extensions.nothing]\n"]
    with ServerThread(answers(Step(text="ok"))) as server:
        wisp = program(tmp_path, server, *tables)
        done = wisp.run("-p", "go")
        first = body(server.requests[0])
        doctor = json.loads(wisp.run("doctor", "--json").stdout)["findings"]
    assert done.stdout.strip() == "ok"
    assert "GOOD-IS-HERE" in first
    for name in (*BROKEN, "gone", "nothing"):
        assert f"the extension '{name}' was not loaded" in done.stderr
    rows = {row["name"]: row for row in doctor}
    assert rows["extension good"]["status"] == "ok"
    assert rows["extension raises"]["status"] == "problem"
    assert "RuntimeError: at import" in rows["extension raises"]["detail"]


HOSTILE = """
import asyncio, sys, time, threading

def fails(text: str) -> str:
    "Raises."
    raise KeyError(text)

def leaves(text: str) -> str:
    "Leaves."
    sys.exit(9)

async def raises(text: str) -> str:
    "Raises, asynchronously."
    raise SystemExit(9)

async def cancels(text: str) -> str:
    "Passes on the end of what it waited for."
    raise asyncio.CancelledError

def prints(text: str) -> str:
    "Prints."
    print("PRINTED-BY-A-TOOL")
    sys.stdout.write("WRITTEN-BY-A-TOOL\\n")
    return "printed"

class Odd:
    parallel_safe = False
    replay = "never"
    def __init__(self):
        from wisp.extensions import ToolSpec
        self.spec = ToolSpec("odd", "Prepares nonsense.", {"type": "object", "properties": {}})
    def prepare(self, arguments):
        return "nonsense"

async def observer(event):
    raise ValueError("observer")

def slow(event):
    time.sleep(1000)

async def blocks(call):
    time.sleep(1000)   # blocks the loop that it runs in

def nonsense(call):
    return 17

def extend(wisp):
    print("PRINTED-AT-LOAD")
    for one in (fails, leaves, raises, prints, cancels, Odd()):
        wisp.tool(one)
    wisp.observe(observer)
    wisp.observe(slow)
    wisp.hook("PreToolUse", blocks, matcher="fails", timeout=0.5)
    wisp.hook("PostToolUse", nonsense)
    wisp.renderer("prints", lambda event: 1 / 0)
    wisp.block(lambda: 1 / 0)
"""


def test_the_example_built_as_a_package_and_installed_is_found_by_its_module(tmp_path: Path) -> None:
    """Built by its own build description; the settings name the module, no path."""
    site = tmp_path / "site"
    done = subprocess.run(
        [
            sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index",
            "--target", str(site), str(EXAMPLE.parent),
        ],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (site / "wisp_example" / "__init__.py").is_file()
    steps = answers(Step(calls=(Call("count_words", {"text": "one two three"}),)), Step(text="done"))
    with ServerThread(steps) as server:
        wisp = program(tmp_path, server, '[extensions.example]\nmodule = "wisp_example"\n')
        ran = wisp.run("-p", "go", *FULL, PYTHONPATH=str(site))
        missing = wisp.run("-p", "go", *FULL)
    assert ran.returncode == 0, ran.stderr
    [output] = [e["output"] for e in events(ran.stdout) if e["type"] == "tool.execution.ended"]
    assert "3" in output
    assert "wisp_example" in missing.stderr + missing.stdout, "without it, that is told"


def test_an_extension_that_fails_at_every_call_breaks_no_run_and_no_stream(tmp_path: Path) -> None:
    calls = tuple(Call(name, {"text": "x"}) for name in ("fails", "leaves", "raises", "prints", "cancels"))
    steps = answers(Step(calls=(*calls, Call("odd", {}))), Step(text="all done"))
    with ServerThread(steps) as server:
        wisp = program(tmp_path, server, table("hostile", written(tmp_path, "hostile", HOSTILE)))
        done = wisp.run("-p", "go", *FULL, timeout=120)
        second = json.loads(body(server.requests[1]))
    told = events(done.stdout)
    assert done.returncode == 0, done.stderr
    assert told[-1]["result"] == "all done"
    assert "PRINTED" not in done.stdout.replace("printed: PRINTED", "")
    assert "printed: PRINTED-BY-A-TOOL" in done.stdout
    results = [m["content"] for m in second["messages"] if m["role"] == "tool"]
    assert "KeyError" in results[0]
    assert "SystemExit" in results[1]
    assert "SystemExit" in results[2]
    assert "printed" in results[3]
    assert "CancelledError" in results[4]
    assert "prepared no call" in results[5]
    errors = " ".join(e["message"] for e in told if e["type"] == "error")
    assert "ValueError: observer; this observer is told nothing more" in errors
    assert "took longer than 0.5 s" in errors
    assert "not a dict" in errors


def test_a_tool_that_does_not_listen_delays_neither_the_limit_of_time_nor_the_exit(tmp_path: Path) -> None:
    deaf = (
        "import time\n"
        "def deaf(text: str) -> str:\n    'Sleeps.'\n    time.sleep(500)\n    return text\n"
        "async def blocks(text: str) -> str:\n    'Sleeps.'\n    time.sleep(500)\n    return text\n"
        "def extend(wisp):\n    wisp.tool(deaf)\n    wisp.tool(blocks)\n"
    )
    for name in ("deaf", "blocks"):
        with ServerThread(answers(Step(calls=(Call(name, {"text": "x"}),)))) as server:
            wisp = program(tmp_path, server, table("deaf", written(tmp_path, "deaf", deaf)))
            done = wisp.run("-p", "go", *FULL, "--max-time", "2", timeout=60)
        assert done.returncode == 124
        assert events(done.stdout)[-1]["subtype"] == "error_max_time"


def test_a_projects_extension_is_loaded_as_it_was_approved_and_not_otherwise(tmp_path: Path) -> None:
    with ServerThread(answers(Step(text="ok"))) as server:
        wisp = program(tmp_path, server)
        (wisp.project / ".wisp").mkdir()
        code = wisp.project / "tools.py"
        code.write_text("def extend(wisp):\n    wisp.block('FIRST-VERSION')\n")
        (wisp.project / ".wisp" / "settings.toml").write_text("[extensions.ours]\npath = 'tools.py'\n")

        def said() -> tuple[str, str]:
            done = wisp.run("-p", "go")
            return body(server.requests[-1]), done.stderr

        assert "FIRST-VERSION" not in said()[0], "the folder is not trusted"
        assert wisp.run("trust", "allow").returncode == 0
        assert "FIRST-VERSION" in said()[0]
        code.write_text("def extend(wisp):\n    wisp.block('SECOND-VERSION')\n")
        sent, told = said()
        assert "VERSION" not in sent
        assert "changed since it was approved" in told
        assert wisp.run("trust", "allow").returncode == 0
        assert "SECOND-VERSION" in said()[0]


def test_a_projects_hook_whose_script_changed_during_the_run_blocks_instead_of_running(
    tmp_path: Path,
) -> None:
    change = Call("bash", {"command": "echo 'touch pwned' > check.sh; true"})
    steps = answers(
        Step(calls=(change,)), Step(calls=(Call("bash", {"command": "touch later"}),)), Step(text="ok")
    )
    with ServerThread(steps) as server:
        wisp = program(tmp_path, server)
        (wisp.project / ".wisp").mkdir()
        (wisp.project / "check.sh").write_text("touch ran\n")
        command = 'bash "$CLAUDE_PROJECT_DIR"/check.sh'
        (wisp.project / ".wisp" / "settings.toml").write_text(
            "[[hooks.PreToolUse]]\nmatcher = 'Bash'\n[[hooks.PreToolUse.hooks]]\ntype = 'command'\n"
            f"command = {json.dumps(command)}\n"
        )
        assert wisp.run("trust", "allow").returncode == 0
        wisp.run("-p", "go", *FULL)
        last = body(server.requests[-1])
    assert (wisp.project / "ran").exists()
    assert not (wisp.project / "pwned").exists()
    assert not (wisp.project / "later").exists()
    assert "changed since it was approved" in last


def test_what_is_not_used_is_not_imported(tmp_path: Path) -> None:
    """Neither hooks nor extensions nor what they need, in a run whose settings name none."""
    import subprocess

    with ServerThread(answers(Step(text="ok"))) as server:
        wisp = program(tmp_path, server)
        code = (
            "import sys\nfrom wisp.launch import main\nsys.argv = ['wisp', '-p', 'hi']\nassert main() == 0\n"
            "print(*sorted(m for m in sys.modules if m.startswith('wisp.')), file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=wisp.project,
            env=wisp.env,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=True,
        )
    loaded = set(done.stderr.split())
    assert "wisp.host.build" in loaded
    unused = ("hookrun", "hooks", "hooking", "extending", "isolating", "registry", "worker", "project", "mcp")
    assert not {f"wisp.host.{name}" for name in unused} & loaded
    assert not {
        name for name in loaded if name.startswith(("wisp.mcp", "wisp.extensions", "wisp.host.fetching"))
    }


def test_web_fetch_is_there_where_it_is_named_or_the_network_is_open_and_is_asked_about(
    tmp_path: Path,
) -> None:
    def offered(*args: str, more: str = "") -> bool:
        with ServerThread(answers(Step(text="ok"))) as server:
            wisp = program(tmp_path, server, more)
            assert wisp.run("-p", "go", *args).returncode == 0
            return b'"web_fetch"' in server.requests[0].body

    assert not offered()
    assert offered(more="[extensions.web_fetch]\n")
    assert offered("--network", "on")
    assert not offered("--network", "on", more="[extensions.web_fetch]\nenabled = false\n")

    with ServerThread([{"text": "<p>THE PAGE"}]) as site:
        where = site.url.removeprefix("http://")
        call = Step(calls=(Call("web_fetch", {"url": f"http://{where}/missing"}),))
        named = f'[extensions.web_fetch]\noptions = {{ private_hosts = ["{where}"] }}\n'
        for allow, wanted in (
            ((), "nobody can be asked"),
            (("--allow", f"web_fetch({where})"), "answered 404"),
        ):
            with ServerThread(answers(call, Step(text="ok"))) as server:
                wisp = program(tmp_path, server, named)
                wisp.run("-p", "go", *allow)
                assert wanted in body(server.requests[1])
