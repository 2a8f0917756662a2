"""How the person wants the screen: the settings' `[screen]`, and what the terminal tells of its ground."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wisp.frontends.tui.bars import Bar
from wisp.frontends.tui.keymap import keymap
from wisp.frontends.tui.look import DARK, GREY, LIGHT
from wisp.host.screensettings import ScreenSettings

if TYPE_CHECKING:
    from wisp.frontends.tui.app import WispApp


class Wishes:
    """What one screen was asked to be."""

    def __init__(self, app: WispApp) -> None:
        self._app = app
        self.settings = ScreenSettings()
        self.means: dict[str, str] = {}
        """What a pressed key means, where it is not itself."""
        self._known = False
        self._ground = ""

    def take(self, settings: ScreenSettings) -> None:
        """The settings are known; what is wrong with the keys is said."""
        app = self._app
        self.settings, self._known = settings, True
        self.means, problems = keymap(settings.keys)
        for problem in problems:
            if app.talk is not None:
                app.talk.note(f"screen.keys: {problem}", "warn")
        if not settings.motion or settings.reader:
            app.animation_level = "none"
        app.set_class(settings.reader, "reader")
        app.transcript.pin = app.transcript.shows_place = not settings.reader
        if settings.theme != "auto" and not app.no_color:
            self.use(settings.theme)
        else:
            if settings.reader:
                self.use({LIGHT.name: "light", GREY.name: "grey"}.get(app.look.name, "dark"))
            self._follow()

    def told(self, ground: str) -> None:
        """The terminal told its ground: `light` or `dark`."""
        self._ground = ground
        self._follow()

    def use(self, name: str) -> None:
        """Other colours: `dark`, `light` or `grey`; the next ones where none are named."""
        app = self._app
        looks = {"dark": DARK, "light": LIGHT, "grey": GREY, "gray": GREY}
        after = {DARK.name: LIGHT, LIGHT.name: GREY, GREY.name: DARK}[app.look.name]
        look = app.look = looks.get(name, after)._replace(spoken=self.settings.reader)
        app.theme = look.name
        for bar in app.screen_stack[0].query(Bar):
            bar.look = look
        app.dialog.look = app.menu.look = look
        app.transcript.show_look(look)
        app.opened()

    def _follow(self) -> None:
        """Look as the terminal does, unless something else was wished for."""
        app = self._app
        wanted = self.settings.theme == "auto" and self._ground and not app.no_color
        if wanted and self._ground != ("dark" if app.look.dark else "light"):
            self.use(self._ground)
