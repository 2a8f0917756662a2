"""A trusted project's own settings: text is taken, limits only narrow, what could run needs approval.

Its list of MCP servers (`.mcp.json`) is such a setting too.

Every setting has a class here; a test fails when one is missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from wisp.host.settings import Layer, Problem, Settings, parse
from wisp.messages.codec import ascii_json
from wisp.policy.modes import MODES
from wisp.workspace.errors import Refused
from wisp.workspace.files import read_whole
from wisp.workspace.root import Workspace

FILE = ".wisp/settings.toml"
SERVERS = ".mcp.json"
MOST_BYTES = 1 << 20

Kind = Literal["text", "narrowing", "executing", "user"]

CLASSES: dict[str, Kind] = {
    "model": "executing",
    "provider": "executing",
    "fallback_models": "executing",
    "effort": "text",
    "base_url": "executing",
    "output_format": "user",
    "permission_mode": "narrowing",
    "sandbox": "narrowing",
    "network": "narrowing",
    "tools": "narrowing",
    "max_turns": "narrowing",
    "max_cost": "narrowing",
    "max_tokens": "narrowing",
    "max_time": "narrowing",
    "max_repeats": "narrowing",
    "session_max_turns": "narrowing",
    "session_max_cost": "narrowing",
    "session_max_tokens": "narrowing",
    "session_max_time": "narrowing",
    "day_max_turns": "narrowing",
    "day_max_cost": "narrowing",
    "day_max_tokens": "narrowing",
    "day_max_time": "narrowing",
    "silence_limit": "narrowing",
    "login_path": "user",
    "memory_limit": "narrowing",
    "max_retries": "user",
    "session_dir": "user",
    "session_days": "user",
    "add_dir": "executing",
    "system_prompt": "executing",
    "append_system_prompt": "text",
    "attribution": "text",
    "encoding": "text",
    "shell": "executing",
    "environment": "executing",
    "permissions": "executing",
    "providers": "executing",
    "hooks": "executing",
    "extensions": "executing",
    "mcp_servers": "executing",
    "screen": "user",
}
"""`text`: taken as it is.  `narrowing`: taken where it is stricter than the user's own.  `executing`: could
run something, choose who is asked or widen what is allowed; needs approval of exactly this content.
`user`: never from a project.  Of `permissions`, `deny` narrows and `allow` executes."""


class ProjectFile(msgspec.Struct, frozen=True):
    """What a project's settings file says."""

    layer: Layer
    problems: tuple[Problem, ...] = ()
    servers: dict[str, Any] = {}
    """What its `.mcp.json` lists, as it stands there."""
    files: dict[str, str] = {}
    """The project's files that its hooks and extensions run, by path below it, each with its digest."""

    @property
    def executing(self) -> dict[str, Any]:
        """The part that needs approval; empty for none."""
        found = {k: v for k, v in self.layer.values.items() if CLASSES.get(k) == "executing"}
        permissions = found.pop("permissions", None)
        allow = permissions.get("allow") if isinstance(permissions, dict) else None
        if self.files:
            found["what they run"] = self.files
        return found | ({"permissions.allow": allow} if allow else {}) | self._listed

    @property
    def _listed(self) -> dict[str, Any]:
        return {".mcp.json": self.servers} if self.servers else {}

    @property
    def digest(self) -> str:
        """Identity of the executing part; empty where there is none."""
        if not self.executing:
            return ""
        import hashlib

        return hashlib.sha256(ascii_json(sorted(self.executing.items()))).hexdigest()


def read_project(folder: str) -> ProjectFile:
    """The settings file of `folder`, opened without leaving it; empty where there is none."""
    try:
        workspace = Workspace(folder)
    except Refused:
        return ProjectFile(Layer(FILE, {}))
    wrong: list[Problem] = []
    layer = Layer(FILE, {})
    try:
        settings, listed = (_read(workspace, name, wrong) for name in (FILE, SERVERS))
        if settings is not None:
            layer, problems = parse(FILE, settings)
            wrong += problems
        files = _run_by(workspace, layer.values)
    finally:
        workspace.close()
    servers: dict[str, Any] = {}
    if listed is not None:
        from wisp.host.mcpjson import server_list

        servers, problems = server_list(listed)
        wrong += problems
    return ProjectFile(layer, tuple(wrong), servers, files)


def _run_by(workspace: Workspace, values: dict[str, Any]) -> dict[str, str]:
    """The files of the project that its hooks' commands and its extensions name, each with its digest."""
    found = {}
    for word in sorted({*_words_of(values.get("hooks")), *_paths_of(values.get("extensions"))}):
        try:
            found[word] = read_whole(workspace, workspace.place(word), MOST_BYTES).digest
        except Refused:
            continue  # no file of the project
    return found


def _words_of(hooks: Any) -> list[str]:
    """Whatever in the commands of hooks could be the name of a file below the project."""
    groups = [group for event in hooks.values() for group in _list(event)] if isinstance(hooks, dict) else []
    told = [
        word
        for group in groups
        if isinstance(group, dict)
        for hook in _list(group.get("hooks"))
        if isinstance(hook, dict)
        for word in (hook.get("command"), *_list(hook.get("args")))
        if isinstance(word, str)
    ]
    plain = [re.sub(r"\"?\$\{?CLAUDE_PROJECT_DIR\}?\"?/", "./", word) for word in told]
    words = [word for text in plain for word in (text, *re.split(r"[\s;&|<>()'\"`$={}]+", text))]
    return [word.removeprefix("./") for word in words if 0 < len(word) < 4096 and "\0" not in word]


def _paths_of(extensions: Any) -> list[str]:
    tables = extensions.values() if isinstance(extensions, dict) else ()
    paths = [table.get("path") for table in tables if isinstance(table, dict)]
    return [path.removeprefix("./") for path in paths if isinstance(path, str) and path]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _pinned(project: ProjectFile, key: str, value: Any, own: Settings, problems: list[Problem]) -> Any:
    """Hooks and extensions with the digests of the files that they were approved with."""
    if key == "hooks" and isinstance(value, dict):
        return {
            event: [_hooks_pinned(project, group) for group in _list(group_list)]
            for event, group_list in value.items()
        }
    if key == "extensions" and isinstance(value, dict):
        for name in sorted(value.keys() & own.extensions.keys()):
            why = f"the extension {name!r} of the project is ignored; your settings have one of that name"
            problems.append(Problem(FILE, 0, why, f"extensions.{name}"))
        value = {name: table for name, table in value.items() if name not in own.extensions}
        return {
            name: {
                **table,
                "sha256": project.files.get(str(table.get("path", "")).removeprefix("./"), "none"),
            }
            if isinstance(table, dict)
            else table
            for name, table in value.items()
        }
    return value


def _hooks_pinned(project: ProjectFile, group: Any) -> Any:
    if not isinstance(group, dict):
        return group
    hooks = []
    for hook in _list(group.get("hooks")):
        if isinstance(hook, dict):
            named = _words_of({"": [{"hooks": [hook]}]})
            files = {word: project.files[word] for word in named if word in project.files}
            hook = {**hook, "files": files, "of_project": True}
        hooks.append(hook)
    return {**group, "hooks": hooks}


def _read(workspace: Workspace, name: str, wrong: list[Problem]) -> bytes | None:
    try:
        return read_whole(workspace, workspace.place(name), MOST_BYTES).data
    except Refused as exc:
        if exc.code != "not_found":
            wrong.append(Problem(name, 0, str(exc)))
        return None


def admitted(project: ProjectFile, own: Settings, approved: str) -> tuple[Layer, tuple[Problem, ...]]:
    """What of a project's settings counts beside the user's `own`; `approved` is the agreed digest."""
    values: dict[str, Any] = {}
    problems = list(project.problems)
    trusted = bool(approved) and approved == project.digest
    if trusted:
        values |= _servers(project, own, problems)
    for key, value in project.layer.values.items():
        kind = CLASSES.get(key)
        if key == "permissions" and isinstance(value, dict):
            values[key] = (
                value if trusted else {name: part for name, part in value.items() if name != "allow"}
            )
        elif key == "mcp_servers":
            continue
        elif kind == "text" or (kind == "executing" and trusted):
            values[key] = _pinned(project, key, value, own, problems)
        elif kind == "narrowing":
            narrow = _narrower(key, value, getattr(own, key))
            if narrow is _NONSENSE:
                why = f"{key} = {value!r:.100} is none that there can be"
                problems.append(Problem(FILE, 0, why, key, limit=True))
            elif narrow is not None:
                values[key] = narrow
        elif kind == "user":
            problems.append(Problem(FILE, 0, f"{key} is not taken from a project", key))
        elif kind is None or key == "permissions":
            values[key] = value  # it is told, and where a limit was meant by it the run is not begun
    if project.executing and not trusted:
        names = ", ".join(sorted(project.executing))
        why = "changed since it was approved" if approved else "was not approved"
        problems.append(
            Problem(FILE, 0, f"{names}: ignored, it {why}; look at it, then 'wisp trust allow'", "x")
        )
    return Layer(FILE, values, project.layer.text), tuple(problems)


def _servers(project: ProjectFile, own: Settings, problems: list[Problem]) -> dict[str, Any]:
    """The project's MCP servers; the user's own of the same name stay, with the permissions given to them."""
    found: dict[str, Any] = {}
    if project.servers:
        from wisp.host.mcpjson import as_settings

        found = as_settings(project.servers, problems)
    stated = project.layer.values.get("mcp_servers", {})
    found |= stated if isinstance(stated, dict) else {}
    for name in sorted(found.keys() & own.mcp_servers.keys()):
        del found[name]
        why = f"the MCP server {name!r} of the project is ignored; your settings have one of that name"
        problems.append(Problem(FILE, 0, why, f"mcp_servers.{name}"))
    return {"mcp_servers": found} if found else {}


_SANDBOX = ("required", "auto", "off")
_NONSENSE = object()


def _narrower(key: str, value: Any, own: Any) -> Any:
    """`value` if it is stricter than `own`; None otherwise, and `_NONSENSE` for what is no limit at all."""
    if key == "permission_mode":
        return _stricter(MODES, value, own)
    if key == "sandbox":
        return _stricter(_SANDBOX, value, own)
    if key == "network":
        return (value if value == "none" else None) if isinstance(value, str) else _NONSENSE
    if key == "tools":
        if not isinstance(value, list):
            return _NONSENSE
        return [name for name in value if own is None or name in own]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        return _NONSENSE
    return value if own is None or value < own else None


def _stricter(steps: Sequence[str], value: Any, own: str) -> Any:
    if value not in steps:
        return _NONSENSE
    return value if steps.index(value) < steps.index(own) else None
