"""Every exercise: its starter is not yet right, its solution is, and two wrong answers are told apart from it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from examples.crafting_agents.exercises.judging import EXERCISES, HERE, check, file_of

CHECKOUT = Path(__file__).resolve().parents[2]
FILES = sorted(HERE.glob("*.py")) + sorted(HERE.glob("*/*.py"))


def test_each_chapter_has_two_exercises_and_each_exercise_its_four_files():
    assert list(EXERCISES) == [f"{chapter}.{number}" for chapter in range(1, 11) for number in (1, 2)]
    folders = {
        path.name: {file.stem for file in path.glob("*.py")}
        for path in HERE.iterdir()
        if "." in path.name and path.is_dir()
    }
    assert folders == {key: {"starter", "solution", "wrong_1", "wrong_2"} for key in EXERCISES}


@pytest.mark.parametrize("number", EXERCISES)
def test_the_solution_is_accepted(number):
    assert check(number, file_of(number, "solution")) is None


@pytest.mark.parametrize("name", ["starter", "wrong_1", "wrong_2"])
@pytest.mark.parametrize("number", EXERCISES)
def test_everything_else_is_rejected_with_a_reason(number, name):
    assert len(check(number, file_of(number, name)) or "") > 10


@pytest.mark.parametrize("number", EXERCISES)
def test_the_two_wrong_answers_and_the_solution_are_three_programs(number):
    texts = {
        ast.dump(ast.parse(file_of(number, name).read_text())) for name in ("solution", "wrong_1", "wrong_2")
    }

    assert len(texts) == 3


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_exercises_need_nothing_but_the_standard_library_and_the_teaching_agent(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            assert all(alias.name.partition(".")[0] in sys.stdlib_module_names for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            top, _, rest = node.module.partition(".")
            assert top in sys.stdlib_module_names or (top, rest[:15]) == ("examples", "crafting_agents")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "does not define unanswered"),
        ("def unanswered(history):\n    return [][0]", "IndexError in line 2"),
        ("def unanswered(history", "SyntaxError"),
        ("raise SystemExit(0)", "SystemExit in line 1"),
    ],
)
def test_an_answer_that_breaks_is_told_where(tmp_path, text, said):
    (tmp_path / "answer.py").write_text(text)

    assert said in (check("1.2", tmp_path / "answer.py") or "")


MORE_WRONG = {
    # Stays below the folder, and follows links inside of it.
    "5.2": """
def read_beneath(root, path):
    target = (root / path).resolve()
    if not target.is_relative_to(root.resolve()):
        raise PermissionError(path)
    return target.read_text()
""",
}
MORE_RIGHT = {
    # Resolves first, and then compares with the way that has no links.
    "5.2": """
def read_beneath(root, path):
    target = (root / path).resolve()
    if path.startswith("/") or target != root.resolve() / path:
        raise PermissionError(path)
    return target.read_text()
""",
    # Finds the longest end by trying all.
    "2.2": """
def bound_tail(text, *, max_bytes, max_lines):
    for start in range(len(text) + 1):
        tail = text[start:]
        if len(tail.encode()) <= max_bytes and len(tail.splitlines()) <= max_lines:
            return tail, start > 0
""",
    # Takes everything at once.
    "4.1": """
def events(pieces):
    blocks = b"".join(pieces).decode().replace("\\r\\n", "\\n").split("\\n\\n")[:-1]
    lines = [[line[5:].removeprefix(" ") for line in b.split("\\n") if line.startswith("data:")] for b in blocks]
    return ["\\n".join(data) for data in lines if data]
""",
    # Multiplies the chances of missing.
    "10.1": """
def pass_any(attempts, passed, k):
    miss = 1.0
    for drawn in range(k):
        miss *= max(0, attempts - passed - drawn) / (attempts - drawn)
    return 1 - miss
""",
    # Adds up every split that is as uneven.
    "10.2": """
from math import comb
def sign_test(before, after):
    sides = [new - old for old, new in zip(before, after) if new != old]
    uneven = [k for k in range(len(sides) + 1) if abs(len(sides) - 2 * k) >= abs(sum(sides))]
    return sum(comb(len(sides), k) for k in uneven) / 2 ** len(sides)
""",
}


@pytest.mark.parametrize("number", MORE_WRONG)
def test_an_answer_that_a_reader_found_to_slip_through_is_refused(tmp_path, number):
    (tmp_path / "answer.py").write_text(MORE_WRONG[number])

    assert "was read" in (check(number, tmp_path / "answer.py") or "")


@pytest.mark.parametrize("number", MORE_RIGHT)
def test_a_readers_own_right_answer_is_accepted(tmp_path, number):
    (tmp_path / "answer.py").write_text(MORE_RIGHT[number])

    assert check(number, tmp_path / "answer.py") is None


@pytest.mark.process
def test_the_command_judges_prints_and_lists(tmp_path):
    def run(*words):
        done = subprocess.run(
            [sys.executable, "-S", "-m", "examples.crafting_agents", *words],
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout, done.stderr

    status, starter, _ = run("starter", "7.1")
    assert (status, starter) == (0, file_of("7.1", "starter").read_text())
    (tmp_path / "mine.py").write_text(starter)
    assert run("check", "7.1", str(tmp_path / "mine.py"))[0] == 1
    assert run("check", "7.1", str(file_of("7.1", "solution"))) == (0, "7.1: solved\n", "")
    assert run("list")[1].count("\n") == 20
    for wrong in (("check", "9.9", "x"), ("check", "7.1", str(tmp_path / "none.py")), ()):
        status, out, err = run(*wrong)
        assert (status, out) == (2, "")
        assert "error:" in err
