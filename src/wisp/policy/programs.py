"""What is known of common programs: which can run others, and which of their options reach further.

Tables only, for `policy.command`.  Not a boundary: a program that is not here is taken at its word.
"""

from __future__ import annotations

import re

_RUNNING = """
bash sh zsh fish dash ksh csh tcsh busybox . source eval exec command builtin coproc trap hash alias enable
set declare typeset local readonly export unset printf read mapfile readarray let test
env sudo doas su runuser pkexec xargs parallel nohup setsid nice ionice chrt taskset timeout time watch stdbuf
unbuffer flock script expect strace ltrace gdb perf valgrind chroot unshare nsenter systemd-run at batch
crontab find fd fdfind python pypy perl ruby node nodejs deno bun lua php tclsh osascript awk gawk mawk nawk
sed ssh scp sftp rsync telnet nc ncat socat curl wget tar zip unzip cpio ar vi vim ex ed nano emacs
less more most man info npx pnpx uvx pipx docker podman kubectl tee dd ln csplit split xxd install
"""
_RUNNERS = frozenset(_RUNNING.split())
_VERSION = re.compile(r"[\d.]+$")

_GIT_OPTIONS = """
--output --exec --open-files-in-pager --upload-pack --receive-pack --ext-diff --textconv --extcmd --tool
--config --config-env --exec-path --git-dir --work-tree --namespace --file --editor --template
--separate-git-dir --index-output --super-prefix --edit --strategy --remote --no-index --contents
"""
_GIT_COMMANDS = """
status log diff show branch add commit checkout switch restore stash fetch pull push merge rebase tag blame
shortlog describe rev-parse rev-list ls-files ls-tree cat-file grep reset rm mv cherry-pick revert clean init
clone remote reflog range-diff name-rev merge-base show-ref for-each-ref count-objects fsck version
"""
GIT_PLAIN = frozenset(_GIT_COMMANDS.split())
"""Subcommands a wildcard may stand for.  Any other word may be an alias, which runs what it likes."""

REACHING: dict[str, tuple[tuple[str, ...], str]] = {
    "git": (tuple(_GIT_OPTIONS.split()), "oOxucCe"),
    "rg": (("--pre", "--hostname-bin", "--search-zip", "--file"), "zf"),
    "sort": (("--output", "--compress-program", "--files0-from", "--temporary-directory"), "oT"),
    "shuf": (("--output",), "o"),
    "sdiff": (("--output",), "o"),
    "iconv": (("--output",), "o"),
    "wc": (("--files0-from",), ""),
    "du": (("--files0-from",), ""),
    "file": (("--files-from", "--compile", "--magic-file"), "fCm"),
    "grep": (("--file",), "f"),
    "date": (("--set", "--file"), "sf"),
    "tree": (("--fromfile",), "o"),
    "npm": (("--script-shell", "--node-options", "--userconfig", "--globalconfig", "--prefix"), "C"),
    "cargo": (("--config", "--manifest-path"), "CZ"),
    "go": (("--exec", "--toolexec", "--vettool", "--overlay", "--modfile", "--C"), ""),
    "make": (("--eval", "--file", "--makefile", "--directory", "--include-dir"), "fCI"),
}
"""Options that read, write or run what they name, by program: a wildcard never stands for one of them.

Long ones also in every abbreviation; short ones, given as letters, also inside a cluster.
"""


def runs_others(word: str) -> bool:
    """Whether the program `word` can run or rewrite what its arguments name: no rule for it is open-ended."""
    name = word.rsplit("/", 1)[-1]
    return name in _RUNNERS or _VERSION.sub("", name) in _RUNNERS


def reaches(program: str, option: str) -> bool:
    """Whether `option` of `program` is one of `REACHING`."""
    long, short = REACHING.get(program, ((), ""))
    if program == "make" and "=" in option:  # SHELL=x
        return True
    if program == "go" and option.startswith("-"):  # one dash or two, never shortened
        return f"--{option.lstrip('-').partition('=')[0]}" in long
    if option.startswith("--"):
        name = option.partition("=")[0]
        return len(name) > 2 and any(known.startswith(name) for known in long)
    return option.startswith("-") and any(letter in option for letter in short)
