"""Names that deserve their own question: files that run code later, and files that hold secrets.

Pure: looks at words, never at the disk.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

_GIT = "git's own files: a change there can run code later"
_OURS = "the agent's own settings"
_TASKS = "editor settings and tasks: they can run code when the folder is opened"
_SHELL = "a file shells or environments run by themselves"
_MCP = "a list of external tool servers that would be started"
_HOOKS = "a hook that runs by itself"
_GIT_CREDENTIALS = "git's configuration: it may hold credentials"
_PRIVATE = "a file that usually holds secrets"
_EDITOR = "a file that an editor runs when it starts"

_WRITE_DIRECTORIES = {
    ".git": _GIT,
    ".hg": _GIT,
    ".svn": _GIT,
    ".wisp": _OURS,
    ".agents": _OURS,
    ".claude": _OURS,
    ".codex": _OURS,
    ".cursor": _OURS,
    ".gemini": _OURS,
    ".vscode": _TASKS,
    ".idea": _TASKS,
    ".zed": _TASKS,
    ".devcontainer": _TASKS,
    ".husky": _HOOKS,
    ".githooks": _HOOKS,
    ".ssh": _PRIVATE,
    ".gnupg": _PRIVATE,
    ".aws": _PRIVATE,
    ".direnv": _SHELL,
}
_WRITE_NAMES = {
    ".gitmodules": _GIT,
    ".gitconfig": _GIT,
    ".gitattributes": _GIT,
    ".mcp.json": _MCP,
    "mcp.json": _MCP,
    ".envrc": _SHELL,
    ".bashrc": _SHELL,
    ".bash_profile": _SHELL,
    ".bash_login": _SHELL,
    ".bash_logout": _SHELL,
    ".bash_aliases": _SHELL,
    ".profile": _SHELL,
    ".zshrc": _SHELL,
    ".zshenv": _SHELL,
    ".zprofile": _SHELL,
    ".zlogin": _SHELL,
    ".inputrc": _SHELL,
    ".npmrc": _SHELL,
    ".yarnrc": _SHELL,
    ".yarnrc.yml": _SHELL,
    ".pnpmfile.cjs": _SHELL,
    ".pypirc": _PRIVATE,
    "sitecustomize.py": _SHELL,
    "usercustomize.py": _SHELL,
    "conftest.py": "tests run it by themselves",
    "makefile": "a build file that runs commands",
    "gnumakefile": "a build file that runs commands",
    ".pre-commit-config.yaml": _HOOKS,
    ".lefthook.yml": _HOOKS,
    "lefthook.yml": _HOOKS,
    ".ripgreprc": _SHELL,
    **dict.fromkeys((".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".pam_environment"), _SHELL),
    **dict.fromkeys((".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".pythonrc", ".irbrc"), _SHELL),
    **dict.fromkeys((".rprofile", ".tmux.conf", ".screenrc", ".curlrc", ".wgetrc", ".psqlrc"), _SHELL),
    **dict.fromkeys((".sqliterc", ".gdbinit", ".lldbinit", ".hgrc"), _SHELL),
    **dict.fromkeys((".vimrc", ".gvimrc", ".exrc", ".emacs"), _EDITOR),
}
_WRITE_PLACES = {
    ".config/wisp": _OURS,
    ".local/state/wisp": _OURS,
    ".config/opencode": _OURS,
    ".config/git": _GIT,
    ".config/nvim": _EDITOR,
    ".config/emacs": _EDITOR,
    ".emacs.d": _EDITOR,
    ".vim": _EDITOR,
    ".cargo/config": _SHELL,
    ".cargo/config.toml": _SHELL,
    ".config/fish": _SHELL,
    ".config/nushell": _SHELL,
    ".config/zsh": _SHELL,
    ".config/autostart": _SHELL,
    ".config/environment.d": _SHELL,
    ".config/systemd": _SHELL,
    ".config/pip": _SHELL,
    ".local/bin": _SHELL,
    "library/launchagents": _SHELL,
}
"""In somebody's home, wherever that is: folders, or files in them, by their last names."""
_READ_PLACES = dict.fromkeys(
    (
        ".config/wisp", ".local/state/wisp", ".config/gh", ".config/hub", ".config/gcloud", ".config/rclone",
        ".config/op", ".config/sops", ".config/git/credentials", ".config/github-copilot",
        ".local/share/keyrings",
        ".docker/config.json", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
        ".m2/settings.xml", ".m2/settings-security.xml",
    ),
    _PRIVATE,
)  # fmt: skip
_OUTPUTS = ".local/state/wisp/output"
"""Whole outputs of commands, which a model is told to read."""
_READ_DIRECTORIES = {
    ".ssh": _PRIVATE,
    ".gnupg": _PRIVATE,
    ".aws": _PRIVATE,
    ".azure": _PRIVATE,
    ".kube": _PRIVATE,
}
_READ_NAMES = {
    ".netrc", "_netrc", ".pgpass", ".git-credentials", ".pypirc", ".npmrc", ".htpasswd", "credentials.json",
    ".vault-token", ".s3cfg", ".boto", ".my.cnf", ".bash_history", ".zsh_history", ".python_history",
    ".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history", "mcp-logins.json",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".dockercfg", "secrets.json", "secrets.yaml", "secrets.yml",
}  # fmt: skip
_READ_ENDINGS = (".pem", ".key", ".p12", ".pfx", ".keystore", ".jks", ".kdbx")
_ENV_SAMPLES = (".example", ".sample", ".template", ".dist", ".defaults")
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)


def why_protected(path: str, kind: Literal["read", "write"] = "write") -> str:
    """Why touching `path` deserves a question of its own; empty when it does not.

    Names are compared the way the most forgiving file systems do: without case, ignorable characters,
    trailing dots and spaces, and stream suffixes.
    """
    names = [folded(part) for part in path.replace("\\", "/").split("/") if part]
    if not names:
        return ""
    last = names[-1]
    if _is_private(last) or any(name in _READ_DIRECTORIES for name in names):
        return _PRIVATE
    places = "/" + "/".join(names) + "/"
    if f"/{_OUTPUTS}/" not in places:
        for place, why in (_READ_PLACES if kind == "read" else {**_READ_PLACES, **_WRITE_PLACES}).items():
            if f"/{place}/" in places:
                return why
    if kind == "read":
        return _GIT_CREDENTIALS if names[-2:] == [".git", "config"] else ""
    for name in names:
        if name in _WRITE_DIRECTORIES:
            return _WRITE_DIRECTORIES[name]
    return _WRITE_NAMES.get(last, "")


def is_protected(path: str, kind: Literal["read", "write"] = "write") -> bool:
    """Whether `why_protected` has a reason."""
    return bool(why_protected(path, kind))


def folded(name: str) -> str:
    """`name` as the most forgiving file system would compare it."""
    name = unicodedata.normalize("NFKC", _IGNORABLE.sub("", name))
    name = name.split(":", 1)[0] if not name.startswith(":") else name
    name = name.rstrip(" .") or name
    if re.fullmatch(r"git~\d", name, re.IGNORECASE):
        return ".git"
    return name.casefold()


def _is_private(name: str) -> bool:
    if name == ".env" or name.startswith(".env."):
        return not name.endswith(_ENV_SAMPLES)
    return name in _READ_NAMES or name.endswith(_READ_ENDINGS)
