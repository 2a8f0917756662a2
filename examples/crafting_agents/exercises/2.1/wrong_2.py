"""A wrong answer: it never tests what it changed."""

from examples.crafting_agents.scripted import RIGHT, WRONG, step

SCRIPT = (
    step("Edit from memory.", "1", "edit", path="calculator.py", old="    return a * b\n", new=RIGHT),
    step("Read it again.", "2", "read", after="read it again", path="calculator.py"),
    step("Now edit.", "3", "edit", after="return a - b", path="calculator.py", old=WRONG, new=RIGHT),
    step("It is fixed.", after="edited calculator.py"),
)
