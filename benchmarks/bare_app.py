"""The floor of the screen's start: a Textual app that shows one line and nothing else."""

from textual.app import App, ComposeResult
from textual.widgets import Static


class Bare(App[None]):
    """One line."""

    ENABLE_COMMAND_PALETTE = False

    def compose(self) -> ComposeResult:
        """The line."""
        yield Static("the first frame")


if __name__ == "__main__":
    Bare().run()
