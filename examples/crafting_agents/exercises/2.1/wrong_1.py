"""A wrong answer: after the refusal it edits again without having looked."""

from examples.crafting_agents.scripted import RIGHT, WRONG, step

SCRIPT = (
    step("Edit from memory.", "1", "edit", path="calculator.py", old="    return a * b\n", new=RIGHT),
    step("Edit again.", "2", "edit", after="error:", path="calculator.py", old=WRONG, new=RIGHT),
    step("Run the tests.", "3", "test", after="edited calculator.py"),
    step("The test passes.", after="OK"),
)
