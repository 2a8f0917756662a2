"""Skills: strict agreement with the reference library, lenient loading, the catalogue, templates."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from skills_ref.validator import validate as reference

from wisp.context.frontmatter import BadFrontmatter
from wisp.context.skills import Skill, body_of, catalogue, faults, read
from wisp.context.templates import Shell, Words, fill

NAMES = [
    "good",
    "a-b",
    "Bad",
    "a_b",
    "-a",
    "a-",
    "a--b",
    "技能",
    "НАВЫК",
    "caf\u00e9",
    "a" * 64,
    "a" * 65,
    "123",
    "",
]
DESCRIPTIONS = [
    "Does a thing.",
    "",
    "x" * 1024,
    "x" * 1025,
    '"quoted: it"',
    "with: colon",
    "[a, b]",
    "a --- b",
    "|\n  two\n  lines",
]
EXTRAS = [
    "",
    "license: MIT",
    "compatibility: " + "c" * 500,
    "compatibility: " + "c" * 501,
    "metadata:\n  author: me\n  n: 1",
    "metadata: {a: b}",
    "allowed-tools: Bash(git:*) Read",
    "model: fast",
    "license: a\nlicense: b",
    "\tlicense: a",
]


def _written(folder: Path, text: str, file: str = "SKILL.md") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(text, "utf-8")
    return folder


def _text(name: str | None, description: str | None, extra: str = "") -> str:
    lines = [f"name: {name}"] if name is not None else []
    lines += [f"description: {description}"] if description is not None else []
    return "---\n" + "\n".join([*lines, extra] if extra else lines) + "\n---\nBody\n"


@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_on_a_skill_is_that_of_the_reference_library(name: str, tmp_path: Path) -> None:
    """Every name with every description and every further field, in a folder of that name and of another."""
    folders = {name or "empty", "good"}
    for number, (folder, description, extra) in enumerate(itertools.product(folders, DESCRIPTIONS, EXTRAS)):
        text = _text(name, description, extra)
        written = _written(tmp_path / str(number) / folder, text)

        assert bool(faults(text, folder)) == bool(reference(written)), text


def test_a_precomposed_folder_matches_a_decomposed_name(tmp_path: Path) -> None:
    """Names are compared after Unicode NFKC, as the specification says."""
    text = _text("cafe\u0301", "d")

    assert faults(text, "caf\u00e9") == reference(_written(tmp_path / "caf\u00e9", text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no fence",
        "---\nname: a\n",
        "---\n---\n",
        "---\n- a\n---\n",
        "---\njust text\n---\n",
        "---\n\n---\nx",
    ],
)
def test_a_file_without_readable_front_matter_is_invalid_for_both(text: str, tmp_path: Path) -> None:
    """One fault each, that says what is missing."""
    assert len(faults(text, "a")) == 1
    assert reference(_written(tmp_path / "a", text))


def test_each_fault_is_named() -> None:
    """Not only the first."""
    said = " ".join(faults("---\nname: Other\nmodel: x\n---\n", "Bad_Skill"))

    assert all(part in said for part in ("description", "lowercase", "Bad_Skill", "model"))


def test_loading_takes_what_people_write() -> None:
    """A colon without quotes, a wrong name and unknown fields are told, not refused."""
    skill, odd = read(
        "---\nname: Other\ndescription: Use when: asked [a]\nmodel: x\n---\nDo it.\n", "mine", "p"
    )

    assert (skill.name, skill.description) == ("mine", "Use when: asked [a]")
    assert len(odd) == 2  # not lowercase, not the folder's


@pytest.mark.parametrize("text", ["---\nname: a\n---\n", "no front matter", "---\n  : :\n\t-\n---\n"])
def test_a_skill_that_nobody_could_choose_is_not_loaded(text: str) -> None:
    """Without a description, or unreadable."""
    with pytest.raises(BadFrontmatter):
        read(text, "a", "p")


def test_a_command_needs_no_front_matter_and_is_not_told_to_the_model() -> None:
    """A plain Markdown file is a command."""
    skill, odd = read("Fix $1", "fix", "p", "command")

    assert (skill.by_model, skill.by_person, odd) == (False, True, [])
    assert body_of("Fix $1") == "Fix $1"


def test_the_catalogue_is_bounded_and_says_what_is_missing() -> None:
    """A thousand skills of 1,000 characters do not fill the window."""
    text, left = catalogue([Skill(f"s{n}", "d" * 1000, "p") for n in range(1000)])

    assert len(text) < 13_000
    assert left == 1000 - text.count("\n- s")
    assert f"[{left} more" in text


def test_no_skills_no_catalogue() -> None:
    """Nothing is said about nothing, nor about what only a person may start."""
    assert catalogue([]) == ("", 0)
    assert catalogue([Skill("a", "d", "p", by_model=False)]) == ("", 0)


def test_arguments_are_filled_in_once() -> None:
    """What an argument says is never looked at again: no placeholder, no shell in it."""
    assert fill("One $1, all $ARGUMENTS, two $2.", "'$2 !`id`' b") == [
        Words("One $2 !`id`, all '$2 !`id`' b, two b.")
    ]


def test_an_argument_cannot_leave_its_place_in_a_line_of_shell() -> None:
    """It is quoted there, each word by itself."""
    assert fill("x !`git log $1 -- $ARGUMENTS` y", "a;b `c`") == [
        Words("x "),
        Shell("git log 'a;b' -- 'a;b' '`c`'"),
        Words(" y"),
    ]


@pytest.mark.parametrize(
    ("template", "arguments", "said"),
    [
        ("Do it.", "", "Do it."),
        ("Do it.", "now", "Do it.\n\nArguments: now\n"),
        ("$3|$1", "a b", "|a"),
        ("$10 $0 $x", "a", "$10 $0 $x\n\nArguments: a\n"),
        ("$1", "it's open", "it's"),
        ("cost $5", "", "cost "),
        ("$HOME $ATTRIBUTION", "", "$HOME me"),
    ],
)
def test_places_without_an_argument_are_empty_and_arguments_without_a_place_follow(
    template: str, arguments: str, said: str
) -> None:
    """Nothing that was typed is lost."""
    assert fill(template, arguments, {"ATTRIBUTION": "me"}) == [Words(said)]
