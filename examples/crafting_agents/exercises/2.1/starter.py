"""Exercise 2.1: the model edits from memory, is refused, reads again, and then gets it right."""

from examples.crafting_agents.scripted import RIGHT, WRONG, step

SCRIPT = (
    step("Edit from memory.", "1", "edit", path="calculator.py", old=WRONG, new=RIGHT),
    step("Run the tests.", "2", "test", after="edited calculator.py"),
    step("The test passes.", after="OK"),
)
