"""Definitions of subagents: what a Markdown file says of one, and the one that is always there.

The form is that of other agents (`name`, `description`, `tools`, `model` in the front matter, instructions
below), so that their files work here; names of their tools are understood.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from wisp.context.frontmatter import BadFrontmatter, parse, split
from wisp.host.shelves import Place, candidates, place_of, text_of
from wisp.workspace.errors import Refused

PROJECT_AGENTS = (".wisp/agents", ".claude/agents")
DESCRIPTION_MOST, TOLD_MOST = 200, 12
"""Characters of a description that the model is told, and of how many agents."""
TURNS = 50
"""Requests of a subagent whose definition says nothing."""
OTHER_NAMES = {
    "glob": "find",
    "multiedit": "edit",
    "notebookedit": "edit",
    "webfetch": "web_fetch",
    "todowrite": "todo",
    "agent": "task",
    "bashoutput": "process",
}
WRITING = frozenset({"write", "edit"})


class Agent(msgspec.Struct, frozen=True):
    """One kind of subagent."""

    name: str
    description: str
    prompt: str
    """Added to the instructions that every conversation here begins with."""
    source: str
    tools: tuple[str, ...] | None = None
    """Names; None for all that only read."""
    model: str = ""
    """Empty for the conversation's own."""
    max_turns: int = TURNS
    max_cost: float | None = None
    """US dollars for one task."""
    isolated: bool = True
    """One that writes does so in a worktree, and its changes come back as a patch."""

    @property
    def writes(self) -> bool:
        """Whether it is given tools that change files."""
        return self.tools is not None and bool(WRITING & set(self.tools))

    @property
    def acts(self) -> bool:
        """Whether it may ask for effects at all: it writes, or names tools of MCP servers."""
        return self.writes or any(name.startswith("mcp__") for name in self.tools or ())


EXPLORE = Agent(
    "explore",
    "finds things out, changes nothing",
    "Find out what is asked. Report facts with file paths and line numbers; say what you did not look at.",
    "built-in",
)


def find_agents(projects: Sequence[str], home: str, config: str) -> tuple[list[Agent], list[str]]:
    """Every kind that there is, those of the project first, and what was odd about any.

    Args:
        projects: trusted folders, from the working directory upwards.
        home: the user's home folder.
        config: the folder of the user's own settings.
    """
    places = [Place(folder, below, "command", own=False) for folder in projects for below in PROJECT_AGENTS]
    places += [
        Place(base, below, "command", own=True)
        for base, below in ((config, "agents"), (home, ".claude/agents"))
    ]
    found: dict[str, Agent] = {}
    notes: list[str] = []
    for place in places:
        for file, name in candidates(place):
            root, inner = place_of(place, file)
            source = file if not place.own else f"{root}/{inner}"
            try:
                agent, odd = read_agent(text_of(root, inner), name, source)
            except (BadFrontmatter, Refused) as exc:
                notes.append(f"{source} is left out: {exc}")
                continue
            notes += [f"{source}: {what}" for what in odd]
            found.setdefault(agent.name, agent)
    found.setdefault(EXPLORE.name, EXPLORE)
    ordered = [found.pop(EXPLORE.name), *found.values()]
    return ordered, notes


def read_agent(text: str, file_name: str, source: str) -> tuple[Agent, list[str]]:
    """The subagent that a file describes, and what is odd about it.

    Raises:
        BadFrontmatter: it cannot be used.
    """
    head, body = split(text)
    fields = parse(head, lenient=True)
    description = " ".join(str(fields.get("description", "")).split())
    if not description:
        raise BadFrontmatter("there is no description, so nobody could know when to use it")
    if not body:
        raise BadFrontmatter("there are no instructions below the front matter")
    notes: list[str] = []
    turns = _number(fields, ("max-turns", "maxTurns", "max_turns"), notes)
    cost = _number(fields, ("max-cost", "maxCost", "max_cost"), notes)
    model = str(fields.get("model", ""))
    return (
        Agent(
            " ".join(str(fields.get("name") or file_name).split()),
            description,
            body,
            source,
            _tools(fields.get("tools")),
            "" if model == "inherit" else model,
            int(turns) if turns else TURNS,
            cost,
            str(fields.get("isolation", "worktree")).lower() != "none",
        ),
        notes,
    )


def _tools(given: Any) -> tuple[str, ...] | None:
    """Names of tools, as a list or separated by commas; what stands in brackets after one is not for us."""
    if given is None or given == "" or given == "*":
        return None
    words = given if isinstance(given, list) else str(given).split(",")
    names = [str(word).strip().partition("(")[0].strip() for word in words]
    return tuple(
        name if name.startswith("mcp__") else OTHER_NAMES.get(name.lower(), name.lower())
        for name in names
        if name
    )


def _number(fields: dict[str, Any], names: Sequence[str], notes: list[str]) -> float | None:
    for name in names:
        if name in fields:
            try:
                number = float(fields[name])
            except (TypeError, ValueError):
                number = 0
            if number > 0:
                return number
            notes.append(f"{name} is no number above 0, so the usual limit counts")
    return None
