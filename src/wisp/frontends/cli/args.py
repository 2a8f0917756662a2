"""The command line as data: which command, which options were really given, which words.

Parses and checks; runs nothing.  Help lists only what exists.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from wisp.frontends.cli.invocation import Invocation, Parser, UsageError
from wisp.frontends.cli.options import NAMES, OPTIONS, add_to

COMMANDS = (
    "chat",
    "demo",
    "acp",
    "sessions",
    "undo",
    "redo",
    "models",
    "login",
    "logout",
    "auth",
    "trust",
    "permissions",
    "skills",
    "mcp",
    "hooks",
    "config",
    "context",
    "rpc",
    "doctor",
    "completion",
)
"""Words that are commands when they stand first."""


def parse(argv: Sequence[str]) -> Invocation:
    """Read the words after the program's name.

    Raises:
        UsageError: they make no sense.
        SystemExit: after printing help.
    """
    if argv and argv[0] in COMMANDS:
        return _PARSE[argv[0]](list(argv[1:]))
    try:
        return _run(list(argv))
    except UsageError:
        from wisp.host.showing import nearest

        meant = nearest(argv[0], COMMANDS)
        if not meant or argv[0].startswith("-"):
            raise
        raise UsageError(f"there is no command {argv[0]!r}{meant}") from None


def form_asked_for(argv: Sequence[str]) -> str:
    """The output format that a command line which makes no sense asks for; empty if none."""
    if not any(word == "--prompt" or word.startswith(("-p", "--prompt=")) for word in argv):
        return ""
    forms = [
        word.partition("=")[2] if "=" in word else following
        for word, following in zip(argv, [*argv[1:], ""], strict=True)
        if word.partition("=")[0] == "--output-format"
    ]
    return forms[-1] if forms else ""


def help_text() -> str:
    """What `wisp --help` prints."""
    return _parser().format_help()


class _Main(Parser):
    def format_help(self) -> str:
        from wisp.frontends.cli.uses import epilog

        self.epilog = epilog()
        return super().format_help()


def _parser() -> Parser:
    parser = _Main(
        prog="wisp",
        usage='wisp [OPTIONS] ["PROMPT"] | wisp -p "PROMPT" [OPTIONS] | wisp COMMAND ...',
        description="A coding agent for the terminal.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("words", nargs="*", metavar="PROMPT", help=argparse.SUPPRESS)
    parser.add_argument(
        "-p", "--prompt", metavar="PROMPT", help="run once, headless; '-' reads it from standard input"
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    add_to(parser)
    return parser


def _run(argv: list[str]) -> Invocation:
    argv, prompt, headless = _take_prompt(argv)
    found = _parser().parse_args(argv)
    words = found.words
    if headless and prompt is None and words:
        prompt, words = words[0], words[1:]
    if not headless and len(words) == 1:
        prompt, words = words[0], []
    if words:
        raise UsageError(f"unexpected argument {words[0]!r}; put the prompt in quotes")
    lines = found.input_format == "stream-json"
    if lines and not (headless and found.output_format == "stream-json"):
        raise UsageError("--input-format stream-json needs -p and --output-format stream-json")
    if lines and prompt == "-":
        raise UsageError("standard input cannot be the prompt and a stream of commands")
    from_stdin = headless and not lines and (prompt is None or prompt == "-")
    return _invocation("version" if found.version else "run", found)._replace(
        headless=headless, prompt_from_stdin=from_stdin, prompt=None if from_stdin else prompt
    )


def _take_prompt(argv: list[str]) -> tuple[list[str], str | None, bool]:
    """Take `-p VALUE` out before argparse sees it: a prompt may begin with dashes."""
    rest: list[str] = []
    prompt: str | None = None
    headless = False
    i = 0
    while i < len(argv):
        word = argv[i]
        if word == "--":
            rest += argv[i:]
            break
        if word in ("-p", "--prompt"):
            headless = True
            following = argv[i + 1] if i + 1 < len(argv) else None
            if following is not None and not _is_option(following):
                prompt = following
                i += 1
        elif word.startswith("--prompt="):
            headless, prompt = True, word.partition("=")[2]
        elif word.startswith("-p"):  # with its value attached, as short options may have it
            headless, prompt = True, word[2:].removeprefix("=")
        else:
            rest.append(word)
        i += 1
    return rest, prompt, headless


def _is_option(word: str) -> bool:
    """Whether a word after `-p` is an option rather than the prompt."""
    if word in ("-", "--") or not word.startswith("-"):
        return word == "--"
    return word.split("=", 1)[0] in NAMES


def _invocation(command: str, found: argparse.Namespace) -> Invocation:
    given = vars(found)
    settings = {
        option.key: given[option.key]
        for option in OPTIONS
        if option.setting and given[option.key] is not None
    }
    if found.allow or found.deny:
        settings["permissions"] = {"allow": found.allow or [], "deny": found.deny or []}
    if found.tools is not None:
        settings["tools"] = [name.strip() for name in found.tools.split(",") if name.strip()]
    if found.no_tools:
        settings["tools"] = []
    for name, value in (("--resume", found.resume), ("--fork", found.fork)):
        if value == "":
            raise UsageError(f"{name} needs the beginning of a session's id; see 'wisp sessions list'")
    if sum(map(bool, (given["continue"], found.resume, found.fork))) > 1:
        raise UsageError("--continue, --resume and --fork exclude each other")
    if found.no_session and (given["continue"] or found.resume or found.fork):
        raise UsageError("--no-session keeps nothing, so there is nothing to continue")
    if found.worktree and (given["continue"] or found.fork):
        raise UsageError("--worktree begins a session, or goes on with one by --resume ID")
    if found.yes and found.permission_mode not in (None, "auto"):
        raise UsageError(f"--yes means --permission-mode auto; it contradicts {found.permission_mode!r}")
    return Invocation(
        command,
        settings,
        continue_=given["continue"],
        resume=found.resume or "",
        fork=found.fork or "",
        no_session=found.no_session,
        yes=found.yes,
        strict_config=found.strict_config,
        inline=found.inline,
        profile=found.profile or "",
        print_instructions=found.print_instructions,
        trust=found.trust,
        no_project=found.no_project,
        cwd=found.cwd or "",
        worktree=found.worktree,
        record=found.record or "",
        replay=found.replay or "",
        output_schema=found.output_schema or "",
        attach=tuple(found.attach or ()),
        lines=found.input_format == "stream-json",
    )


def _chat(argv: list[str]) -> Invocation:
    parser = Parser(prog="wisp chat", description="A conversation line by line.", allow_abbrev=False)
    parser.add_argument("first", nargs="?", metavar="PROMPT", help="a first message")
    parser.add_argument("--plain", action="store_true", help="no screen, only lines (the only form so far)")
    add_to(parser)
    found = parser.parse_args(argv)
    return _invocation("chat", found)._replace(plain=True, prompt=found.first)


def _demo(argv: list[str]) -> Invocation:
    parser = Parser(prog="wisp demo", description="Repairs a small project with a scripted model.")
    parser.add_argument("--deny-edits", action="store_true", help="refuse the edit and see what happens")
    return Invocation("demo", deny_edits=parser.parse_args(argv).deny_edits)


_Read = Callable[[list[str]], Invocation]


def _words(command: str, usage: str, description: str, *, most: int, flags: Sequence[str] = ()) -> _Read:
    def parse_words(argv: list[str]) -> Invocation:
        parser = Parser(prog=f"wisp {command}", usage=f"wisp {command} {usage}", description=description)
        parser.add_argument("words", nargs="*")
        for flag in flags:
            parser.add_argument(flag, action="store_true")
        parser.add_argument("--session-dir", metavar="DIR")
        found = parser.parse_args(argv)
        if len(found.words) > most:
            raise UsageError(f"unexpected argument {found.words[most]!r}; see 'wisp {command} --help'")
        return Invocation(
            command,
            {"session_dir": found.session_dir} if found.session_dir else {},
            words=found.words,
            json=getattr(found, "json", False),
            all=getattr(found, "all", False),
            yes=getattr(found, "yes", False),
        )

    return parse_words


def _server(command: str, text: str) -> _Read:
    def parse_server(argv: list[str]) -> Invocation:
        whole = f"{text} on standard input and output. The options are those of a run."
        parser = Parser(prog=f"wisp {command}", description=whole, allow_abbrev=False)
        add_to(parser)
        found = _invocation(command, parser.parse_args(argv))
        if command != "rpc" and (found.resume or found.fork or found.continue_ or found.output_schema):
            raise UsageError(
                f"the client says which conversation is gone on with; see 'wisp {command} --help'"
            )
        return found

    return parse_server


def _undo(command: str, text: str) -> _Read:
    def parse_undo(argv: list[str]) -> Invocation:
        parser = Parser(prog=f"wisp {command}", description=text, allow_abbrev=False)
        parser.add_argument("--yes", action="store_true", help="do it without showing it first")
        parser.add_argument("--turn", action="store_true", help="only the last turn instead of the whole run")
        if command == "undo":
            parser.add_argument("--chat", action="store_true", help="take the conversation back too")
        parser.add_argument("--resume", metavar="ID", help="another session than this folder's newest")
        parser.add_argument("--session-dir", metavar="DIR")
        found = parser.parse_args(argv)
        if found.resume == "":
            raise UsageError("--resume needs the beginning of a session's id; see 'wisp sessions list'")
        settings = {"session_dir": found.session_dir} if found.session_dir else {}
        return Invocation(
            command,
            settings,
            yes=found.yes,
            one_turn=found.turn,
            chat=getattr(found, "chat", False),
            resume=found.resume or "",
        )

    return parse_undo


def _login(argv: list[str]) -> Invocation:
    from wisp.frontends.cli.login import parse_login

    return parse_login(argv)


def _models(argv: list[str]) -> Invocation:
    from wisp.frontends.cli.small import parse_models

    return parse_models(argv)


def _sessions(argv: list[str]) -> Invocation:
    from wisp.frontends.cli.sessions import parse_sessions as read

    return read(argv)


def _mcp(argv: list[str]) -> Invocation:
    if argv[:1] == ["serve"]:
        return _server("mcp serve", "A task tool for other agents: the Model Context Protocol")(argv[1:])
    from wisp.frontends.cli.mcp import parse_mcp as read

    return read(argv)


def _context(argv: list[str]) -> Invocation:
    parser = Parser(
        prog="wisp context",
        description="What takes the space of the next request, by source, estimated; no request is made.",
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="one object, with every message")
    add_to(parser)
    found = parser.parse_args(argv)
    return _invocation("context", found)._replace(json=found.json)


_JSON = ("--json",)
_PARSE: dict[str, _Read] = {
    "chat": _chat,
    "demo": _demo,
    "acp": _server("acp", "An agent for editors: the Agent Client Protocol"),
    "rpc": _server("rpc", "A conversation for another program: JSON-RPC 2.0, one message a line,"),
    "undo": _undo("undo", "Put files back to before the last run, whoever changed them: tools or commands."),
    "redo": _undo("redo", "Undo the last undo."),
    "sessions": _sessions,
    "context": _context,
    "models": _models,
    "mcp": _mcp,
    "login": _login,
    "logout": _words("logout", "[PROVIDER]", "Forgets what is stored for a provider.", most=1),
    "auth": _words("auth", "status [--json]", "Which credential comes from where.", most=1, flags=_JSON),
    "trust": _words("trust", "status|allow|revoke|forget [DIR]", "Whose files are read.", most=2),
    "permissions": _words("permissions", "why 'COMMAND' | list | test FILE", "What may run, why.", most=2),
    "skills": _words(
        "skills",
        "list [--json] | validate DIR...",
        "Skills and commands of this folder, and whether one keeps to the Agent Skills specification.",
        most=100,
        flags=_JSON,
    ),
    "hooks": _words(
        "hooks", "list [--json]", "Which hooks are run here, and who says so.", most=1, flags=_JSON
    ),
    "config": _words(
        "config",
        "show [--json] | set KEY VALUE | unset KEY | edit | schema",
        "Every setting and its origin; the user's own settings file changed, edited, described. "
        "KEY is dotted for one in a table, as providers.local.base_url.",
        most=3,
        flags=_JSON,
    ),
    "completion": _words("completion", "bash|zsh|fish", "Print a completion script.", most=1),
    "doctor": _words("doctor", "[--json]", "What works here.", most=0, flags=_JSON),
}
