"""Exercise 2.1: a stale edit changes nothing, and the model looks before it tries again."""

from examples.crafting_agents.scripted import RIGHT, WRONG, step

SCRIPT = (
    step("Edit from memory.", "1", "edit", path="calculator.py", old="    return a * b\n", new=RIGHT),
    step("Read it again.", "2", "read", after="read it again", path="calculator.py"),
    step("Now edit.", "3", "edit", after="return a - b", path="calculator.py", old=WRONG, new=RIGHT),
    step("Run the tests.", "4", "test", after="edited calculator.py"),
    step("The test passes.", after="OK"),
)
