"""Whether a shell line only reads, inside the workspace: then it has no effect that a person must be asked about.

Every simple command must be on a list, with options on that program's list.  What is not on a list is asked
about; git, test runners and build tools are not on it, because the project decides what they run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from wisp.policy.shell import Word, simple_commands

Check = Callable[[Sequence[Word]], bool]
"""Whether these arguments of one program only read."""

_SECRET = re.compile(
    r"(^|/)(\.env(?!\.example$)(\.[^/]*)?|\.ssh|\.aws|\.gnupg|\.netrc|\.pgpass|\.docker|\.kube|\.npmrc|\.pypirc"
    r"|\.git-credentials|\.htpasswd|\.azure|\.dockercfg|_netrc|id_[a-z0-9]+"
    r"|[^/]*\.(pem|key|p12|pfx|keystore|jks|kdbx)|credentials(\.[a-z]+)?|secrets?(\.[a-z]+)?|\.git)(/|$)",
    re.IGNORECASE,
)


def only_reads(command: str, root: str) -> bool:
    """Whether `command` is fully understood, only reads, and stays beneath `root`."""
    commands = simple_commands(command)
    return commands is not None and all(reads(words, root) for words in commands)


def reads(words: Sequence[Word], root: str) -> bool:
    """Whether one simple command only reads, beneath `root`."""
    check = _PROGRAMS.get(words[0])
    return check is not None and all(inside(word, root) for word in words[1:]) and check(words[1:])


def inside(word: str, root: str) -> bool:
    """Whether a word, taken as a path or as the value of an option, names nothing outside and no secret."""
    value = word.partition("=")[2] if word.startswith("-") and "=" in word else word
    if word.startswith("-") and "=" not in word and "/" in word:
        return False
    if value.startswith("~") or ".." in value.split("/") or _SECRET.search(value):
        return False
    return (
        not value.startswith("/") or value == "/dev/null" or (value + "/").startswith(root.rstrip("/") + "/")
    )


def _options(short: str, long: str = "", *, valued: str = "", numbers: bool = False) -> Check:
    """Arguments whose options are all listed.

    Args:
        short: letters that may stand in a cluster.
        long: long options, in full; those that take a value end with `=`.
        valued: letters whose value is the rest of the word or the next word.
        numbers: `-5` is an option.
    """
    names = set(long.split())
    letters = set(short + valued)

    def check(words: Sequence[Word]) -> bool:
        rest = iter(words)
        for word in rest:
            if word == "--":
                return True
            if word.startswith("--"):
                name, equals, _ = word.partition("=")
                if equals and name + "=" not in names:
                    return False
                if not equals and name not in names:
                    if name + "=" not in names:
                        return False
                    next(rest, None)
            elif word.startswith("-") and len(word) > 1:
                if numbers and word[1:].isdigit():
                    continue
                for place, letter in enumerate(word[1:], 2):
                    if letter not in letters:
                        return False
                    if letter in valued:
                        if place == len(word):  # the next word is its value, also when that is `--`
                            next(rest, None)
                        break
        return True

    return check


def _one_file(words: Sequence[Word]) -> bool:
    """`uniq`: a second operand would be written; `-` is one, and so is every word after `--`."""
    operands = [word for word in words if not word.startswith("-") or word in ("-", "--")]
    return (
        len(operands) < 2 and not any(word.glob for word in words) and _options("cduiz", valued="fsw")(words)
    )


def _find(words: Sequence[Word]) -> bool:
    """Only tests and `-print`: nothing that runs, writes or deletes."""
    safe = [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-type",
        "-maxdepth",
        "-mindepth",
        "-size",
        "-mtime",
        "-mmin",
        "-newer",
        "-empty",
        "-not",
        "-a",
        "-o",
        "-and",
        "-or",
        "-print",
        "-print0",
        "-prune",
        "-readable",
        "-executable",
        "-regex",
        "-iregex",
        "-perm",
        "-links",
        "-samefile",
        "-true",
        "-false",
        "-daystart",
    ]
    return all(not word.startswith("-") or word in safe or word[1:].isdigit() for word in words)


def _sed(words: Sequence[Word]) -> bool:
    """`sed -n` with addresses that only print."""
    if not words or words[0] != "-n":
        return False
    operands = words[1:]
    return (
        bool(operands)
        and re.fullmatch(r"\d+(,(\d+|\$))?p", operands[0]) is not None
        and not any(word.startswith("-") for word in operands)
    )


def _printf(words: Sequence[Word]) -> bool:
    """No `-v` and no `%n`: both set a variable, and PATH is one."""
    return (
        bool(words) and not words[0].startswith("-") and not re.search(r"%[-+ #0'*.\d$hjlLqtzZ]*n", words[0])
    )


def _cd(words: Sequence[Word]) -> bool:
    """Into a named folder: alone or with `-` it leads home or back, which may be outside."""
    return len(words) == 1 and not words[0].startswith("-") and not words[0].glob and bool(words[0])


def _jq(words: Sequence[Word]) -> bool:
    """A filter that loads no module, which may lie anywhere, and shows no environment."""
    return not any(
        re.search(r"\b(import|include|modulemeta|env|ENV)\b", word) for word in words
    ) and _options(
        "rcnsSeaMCj", "--raw-output --compact-output --slurp --sort-keys --null-input --exit-status"
    )(words)


def _strings(words: Sequence[Word]) -> bool:
    """`@file` would be read as further arguments."""
    return not any(word.startswith("@") for word in words) and _options("afo", valued="nte")(words)


def _test(words: Sequence[Word]) -> bool:
    """Plain words only: `-v` would evaluate an array index."""
    return all(re.fullmatch(r"[A-Za-z0-9_./=!<>\]-]*", word) and word not in ("-v", "-R") for word in words)


def _tree(words: Sequence[Word]) -> bool:
    """Options with a value stand alone: `tree -Po x FILE` takes `x` for P and goes on to write `FILE`."""
    alone = [word for word in words if word.startswith("-") and set(word) & set("LIP") and word[:2] != "--"]
    return all(len(word) == 2 for word in alone) and _options(
        "adfiqpughDFsrtAC", "--dirsfirst --noreport", valued="LIP"
    )(words)


def _anything(words: Sequence[Word]) -> bool:
    return True


def _nothing(words: Sequence[Word]) -> bool:
    return not words


def _says(*ways: str) -> Check:
    """A program that may only say what it is, in exactly one of these ways.

    `version` is a file or a target to most programs, and `python -v` runs what it is piped.  Programs whose
    version the project chooses (rustc, cargo, go) run or fetch what the project names: they are not here.
    """
    return lambda words: len(words) == 1 and words[0] in ways


_GREP = "acEFGHhiLlnoPqrsTvwxyzbU"
_PROGRAMS: dict[str, Check] = {
    "ls": _options(
        "1AaBbCcdFfGghHIiklLmnopqQrRsStTuUvwxXZ",
        "--all --almost-all --color --color= --recursive --directory --human-readable --reverse --sort= --time= --full-time --group-directories-first --inode --size --classify",
    ),
    "cat": _options("AbeEnstTuv", "--number --show-all --show-ends --squeeze-blank"),
    "head": _options("qvz", "--lines= --bytes= --quiet", valued="nc", numbers=True),
    "tail": _options("qvz", "--lines= --bytes= --quiet", valued="nc", numbers=True),
    "wc": _options("clLmw", "--lines --words --bytes --chars --max-line-length"),
    "grep": _options(
        _GREP,
        "--recursive --ignore-case --line-number --word-regexp --count --files-with-matches --include= --exclude= --exclude-dir= --color --color= --fixed-strings --extended-regexp --perl-regexp --invert-match --only-matching --context= --after-context= --before-context= --max-count= --with-filename --no-filename",
        valued="ABCmed",
        numbers=True,
    ),
    "egrep": _options(_GREP, valued="ABCme", numbers=True),
    "fgrep": _options(_GREP, valued="ABCme", numbers=True),
    "rg": _options(
        "acFHhilnNoPqsSUuvwx",
        "--ignore-case --smart-case --line-number --no-heading --files --files-with-matches --count --count-matches --hidden --no-ignore --glob= --type= --context= --max-count= --word-regexp --fixed-strings --color= --json --multiline --sort= --stats --vimgrep",
        valued="ABCegmtT",
    ),
    "find": _find,
    "sort": _options(
        "bdfghiMnRrsuVcz",
        "--reverse --numeric-sort --unique --human-numeric-sort --key= --field-separator=",
        valued="kt",
    ),
    "uniq": _one_file,
    "cut": _options("nsz", "--fields= --delimiter= --characters= --complement", valued="bcdf"),
    "tr": _options("cCdst"),
    "nl": _options("", valued="bdfhilnsvw"),
    "tac": _options("bs"),
    "rev": _options(""),
    "paste": _options("sz", valued="d"),
    "column": _options("tx", valued="sco"),
    "comm": _options("123z"),
    "diff": _options(
        "abBcdeEiNnpqrstuwyZ",
        "--unified --unified= --brief --recursive --color --color= --ignore-all-space --side-by-side --stat",
        valued="UCx",
    ),
    "cmp": _options("bls"),
    "stat": _options("fLt", "--format= --printf= --terse", valued="c"),
    "file": _options("bihkLNprsz", "--brief --mime --mime-type"),
    "du": _options("0abchHklLmsSx", "--summarize --human-readable --max-depth= --all --total", valued="d"),
    "df": _options("ahHiklPT", "--human-readable"),
    "tree": _tree,
    "basename": _options("az", valued="s"),
    "dirname": _options("z"),
    "realpath": _options("eLmPqsz"),
    "readlink": _options("efmnqsvz"),
    "pwd": _options("LP"),
    "cd": _cd,
    "echo": _anything,
    "printf": _printf,
    "true": _anything,
    "false": _anything,
    "test": _test,
    "[": _test,
    "seq": _options("w", valued="fs"),
    "date": _nothing,
    "whoami": _nothing,
    "id": _options("gGnru"),
    "uname": _options("amnoprsv"),
    "hostname": _nothing,
    "nproc": _nothing,
    "arch": _nothing,
    "which": _options("a"),
    "type": _options("aptP"),
    "md5sum": _options("bt"),
    "sha1sum": _options("bt"),
    "sha256sum": _options("bt"),
    "cksum": _options(""),
    "od": _options("bcdDefFhHiIlLosvxX", valued="AjNtSw"),
    "hexdump": _options("bcCdovx", valued="ns"),
    "strings": _strings,
    "jq": _jq,
    "sed": _sed,
    "python": _says("--version", "-V"),
    "python3": _says("--version", "-V"),
    "node": _says("--version", "-v"),
    "npm": _says("--version", "-v"),
    "git": _says("--version", "version"),
    "gcc": _says("--version"),
    "make": _says("--version", "-v"),
    "pip": _says("--version", "-V"),
    "uv": _says("--version", "-V"),
    "docker": _says("--version", "-v"),
    "java": _says("--version"),
    "ruby": _says("--version"),
}
