"""What the program is started with, and what it ends with, as tables: for help and the manual."""

from __future__ import annotations

import textwrap

USES: tuple[tuple[str, str], ...] = (
    ("wisp", "a conversation, when standard input and output are terminals"),
    ('wisp "PROMPT"', "the same, with a first message"),
    ('wisp -p "PROMPT"', "one run, the answer on standard output, then exit"),
    ("wisp chat --plain", "a conversation line by line"),
    ("wisp demo", "see a bug being found, fixed and tested: no key, no network"),
    ("wisp acp", "an agent for editors, over standard input and output"),
    (
        "wisp sessions list|find|show|tree|fork|clone|rename|label|archive|rm|restore|prune|repair",
        "what was said before; 'wisp sessions --help' explains each",
    ),
    ("wisp sessions scrub|replay|export|import", "credentials taken out, requests again, other formats"),
    ("wisp undo | wisp redo", "put files back to before the last run, or forward again"),
    ("wisp models [WORDS]", "the models you can use; with words, a search through all that are known"),
    ("wisp models --refresh", "fetch newer windows and prices from models.dev"),
    ("wisp login|logout [PROVIDER]", "keep a key, or forget it"),
    ("wisp auth status", "which credential comes from where"),
    ("wisp trust status|allow|revoke|forget [DIR]", "whose files are read"),
    ("wisp permissions why 'CMD'", "allow, ask or deny, and why (also: list, test FILE)"),
    ("wisp context", "what takes the space of the next request"),
    ("wisp skills list|validate DIR", "what /name can start; is a skill as the specification wants it"),
    ("wisp mcp list|add|remove|test|login|logout", "programs and services that offer more tools"),
    ("wisp mcp serve", "a task tool for other agents, over standard input and output"),
    ("wisp config show", "every setting and where it comes from (also: set, unset, edit, schema)"),
    ("wisp rpc", "a conversation for another program, as JSON-RPC 2.0 on standard input and output"),
    ("wisp hooks list", "which commands are run at which events"),
    ("wisp doctor", "what works here"),
    ("wisp completion bash|zsh|fish", "a script that completes commands and options"),
)

EXITS: tuple[tuple[int, str], ...] = (
    (0, "normal end"),
    (1, "the run failed"),
    (2, "usage"),
    (3, "configuration or credentials"),
    (4, "the provider failed"),
    (5, "a limit ended it"),
    (6, "refused"),
    (124, "--max-time"),
    (129, "hang-up"),
    (130, "interrupted"),
    (141, "nobody reads the output"),
    (143, "terminated"),
)

_PLACE = 30
"""The column that explanations begin in."""


def epilog() -> str:
    """Both tables as text."""
    lines = ["commands:"]
    for form, about in USES:
        shown = f"  {form}"
        if len(shown) < _PLACE - 1:
            lines.append(f"{shown:<{_PLACE}}{about}")
        else:
            lines += [shown, " " * _PLACE + about]
    exits = ", ".join(f"{code} {about}" for code, about in EXITS)
    return "\n".join([*lines, "", *textwrap.wrap(f"exit codes: {exits}", 96)]) + "\n"
