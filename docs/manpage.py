"""The manual page, from the tables that the parser is made of; in the macros of man(7)."""

from __future__ import annotations

from wisp.frontends.cli.options import OPTIONS
from wisp.frontends.cli.uses import EXITS, USES

ABOUT = (
    "Wisp is a coding agent: you say what is wrong or wanted, a model proposes, and Wisp reads, edits and runs in the "
    "working folder what its permission mode and your rules allow. It asks before anything that has an effect, writes "
    "down what it is about to do before it does it, and can put every file back.",
    "Without a prompt at a terminal it opens a conversation. With -p it runs once and ends.",
)
FILES = (
    ("$XDG_CONFIG_HOME/wisp/settings.toml", "the settings; 'wisp config schema' describes them"),
    (".wisp/settings.toml", "settings of a project, read where its folder is trusted"),
    ("AGENTS.md, CLAUDE.md", "instructions of a project, likewise"),
    ("$XDG_STATE_HOME/wisp/sessions/", "conversations, one file each"),
)
ENVIRONMENT = (
    ("WISP_HOME", "one folder for everything that Wisp keeps"),
    ("WISP_*", "any setting, as WISP_PERMISSION_MODE"),
    ("ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, ...", "keys of the services"),
    ("HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE", "the way to them"),
    ("NO_COLOR", "no styles"),
    ("WISP_TRACEBACK", "shows where a bug comes from"),
)


def manual() -> str:
    """The whole page."""
    lines = [
        '.\\" Written by docs/generate.py from the code; do not edit.',
        '.TH WISP 1 "" "wisp" "User Commands"',
        ".SH NAME",
        "wisp \\- a coding agent for the terminal",
        ".SH SYNOPSIS",
    ]
    for form in ('wisp [OPTIONS] ["PROMPT"]', 'wisp -p "PROMPT" [OPTIONS]', "wisp COMMAND ..."):
        lines += [_bold(form), ".br"]
    lines.append(".SH DESCRIPTION")
    for place, paragraph in enumerate(ABOUT):
        lines += [*([".PP"] if place else []), _text(paragraph)]
    lines.append(".SH COMMANDS")
    for form, about in USES:
        lines += [".TP", _bold(form), _text(about)]
    lines.append(".SH OPTIONS")
    lines += [
        ".TP",
        "\\fB\\-p\\fR, \\fB\\-\\-prompt\\fR \\fIPROMPT\\fR",
        _text("run once, headless; '-' reads it from standard input"),
    ]
    group = ""
    for option in OPTIONS:
        if option.group != group:
            group = option.group
            lines.append(f".SS {_text(group.capitalize())}")
        value = f" \\fI{_text(option.metavar)}\\fR" if option.metavar else ""
        choices = f"{', '.join(option.choices)}; " if option.choices else ""
        lines += [".TP", f"\\fB{_text('--' + option.name)}\\fR{value}", _text(choices + option.help)]
    for title, rows in (("EXIT STATUS", EXITS), ("FILES", FILES), ("ENVIRONMENT", ENVIRONMENT)):
        lines.append(f".SH {title}")
        for name, about in rows:
            lines += [".TP", _bold(str(name)), _text(about)]
    return "\n".join(lines) + "\n"


def _bold(text: str) -> str:
    return f"\\fB{_text(text)}\\fR"


def _text(text: str) -> str:
    """Words that the formatter takes for nothing else."""
    made = (
        text.replace("\\", "\\e")
        .replace("-", "\\-")
        .replace("'", "\\(aq")
        .replace("~", "\\(ti")
        .replace("^", "\\(ha")
    )
    return "\\&" + made if made.startswith(".") else made
