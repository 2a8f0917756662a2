"""`wisp completion SHELL`: a script that completes commands, options and their values.

Made from the table of options, so it offers what this version has.  How to load it stands in its first lines.
"""

from __future__ import annotations

from wisp.frontends.cli.args import COMMANDS
from wisp.frontends.cli.options import OPTIONS

SHELLS = ("bash", "zsh", "fish")
_PLACES = {"DIR": "dirs", "FILE": "files"}
_SWITCHES = (("help", "show help"), ("version", "show the version"))


def completion(shell: str) -> str:
    """The script for one of `SHELLS`."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _verbs() -> dict[str, str]:
    """What may follow a command, separated by spaces."""
    from wisp.frontends.cli.mcp import VERBS as MCP
    from wisp.frontends.cli.sessions import VERBS as SESSIONS

    return {
        "completion": " ".join(SHELLS),
        "mcp": " ".join(MCP),
        "sessions": " ".join(SESSIONS),
        "trust": "status allow revoke forget",
        "permissions": "why list test",
        "skills": "list validate",
        "config": "show set unset edit schema",
        "hooks": "list",
        "auth": "status",
    }


def _bash() -> str:
    cases = []
    for option in OPTIONS:
        if option.choices:
            offered = f"-W '{' '.join(option.choices)}'"
        elif option.metavar in _PLACES:
            offered = "-d" if option.metavar == "DIR" else "-f"
        elif option.metavar:
            offered = "-W ''"
        else:
            continue
        cases.append(f'    --{option.name}) COMPREPLY=($(compgen {offered} -- "$cur")); return ;;')
    verbs = [
        f"    {command}) (( COMP_CWORD == 2 )) && COMPREPLY=($(compgen -W '{words}' -- \"$cur\"))"
        " && return ;;"
        for command, words in _verbs().items()
    ]
    flags = [option.name for option in OPTIONS] + [name for name, _ in _SWITCHES]
    names = " ".join(["-p", *("--" + name for name in flags)])
    return "\n".join(
        [
            "# Load it with:  source <(wisp completion bash)",
            "_wisp() {",
            '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"',
            "  COMPREPLY=()",
            '  case "$prev" in',
            *cases,
            *verbs,
            "  esac",
            '  if [[ "$cur" == -* ]]; then',
            f"    COMPREPLY=($(compgen -W '{names}' -- \"$cur\"))",
            "  elif (( COMP_CWORD == 1 )); then",
            f"    COMPREPLY=($(compgen -W '{' '.join(COMMANDS)}' -- \"$cur\"))",
            "  fi",
            "}",
            "complete -o default -F _wisp wisp",
            "",
        ]
    )


def _zsh() -> str:
    rows = []
    for option in OPTIONS:
        text = option.help.replace("[", "(").replace("]", ")").replace(":", ",").replace("'", "")
        star = "*" if option.repeat else ""
        if option.choices:
            value = f":{option.metavar}:({' '.join(option.choices)})"
        elif option.metavar in _PLACES:
            value = f":{option.metavar}:_{'directories' if option.metavar == 'DIR' else 'files'}"
        else:
            value = f":{option.metavar.split('[')[0]}:" if option.metavar else ""
        rows.append(f"    '{star}--{option.name}[{text}]{value}'")
    rows += [f"    '--{name}[{text}]'" for name, text in _SWITCHES]
    rows.append("    '-p[run once, without a conversation]:PROMPT:'")
    return "\n".join(
        [
            "#compdef wisp",
            "# Load it with:  source <(wisp completion zsh)   after compinit",
            "_wisp() {",
            "  local -a commands=(" + " ".join(COMMANDS) + ")",
            "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then",
            "    compadd -a commands; return",
            "  fi",
            "  if (( CURRENT == 3 )); then",
            "    case $words[2] in",
            *(f"      {command}) compadd {words}; return ;;" for command, words in _verbs().items()),
            "    esac",
            "  fi",
            "  _arguments -s \\",
            " \\\n".join(rows),
            "}",
            "compdef _wisp wisp",
            "",
        ]
    )


def _fish() -> str:
    lines = [
        "# Load it with:  wisp completion fish | source",
        f"complete -c wisp -n __fish_use_subcommand -f -a '{' '.join(COMMANDS)}'",
        *(
            f"complete -c wisp -n '__fish_seen_subcommand_from {command}; "
            f"and not __fish_seen_subcommand_from {words}' -f -a '{words}'"
            for command, words in _verbs().items()
        ),
    ]
    for option in OPTIONS:
        text = option.help.replace("\\", "").replace("'", "")
        line = f"complete -c wisp -l {option.name} -d '{text}'"
        if option.choices:
            line += f" -x -a '{' '.join(option.choices)}'"
        elif option.metavar == "DIR":
            line += " -x -a '(__fish_complete_directories)'"
        elif option.metavar == "FILE":
            line += " -r"
        elif option.metavar:
            line += " -x"
        lines.append(line)
    lines += [f"complete -c wisp -l {name} -d '{text}'" for name, text in _SWITCHES]
    return "\n".join([*lines, "complete -c wisp -s p -d 'run once, without a conversation' -x", ""])
