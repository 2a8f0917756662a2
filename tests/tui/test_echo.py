"""The order of a key's echo and of what streams in."""

from __future__ import annotations

from wisp.frontends.tui.echo import MOST, Echo


def test_what_streams_lets_a_key_that_was_pressed_be_shown_first() -> None:
    """From the moment the terminal sends the key until the screen shows it."""
    echo = Echo()
    before = echo.waits(10.0)
    echo.pressed(10.0)
    pressed = echo.waits(10.001), echo.due()
    echo.taken(10.002)
    taken = echo.waits(10.003), echo.due()
    echo.shown()

    assert (before, pressed, taken) == (False, (True, False), (True, True))
    assert (echo.waits(10.004), echo.due()) == (False, False)


def test_a_key_that_shows_nothing_holds_nothing_up_for_long() -> None:
    """A key may mean nothing where it was pressed."""
    echo = Echo()
    echo.pressed(10.0)

    assert (echo.waits(10.0 + 0.99 * MOST), echo.waits(10.0 + MOST)) == (True, False)


def test_a_drawing_before_the_key_was_taken_is_not_its_echo() -> None:
    """The screen may be drawn between the press and the change."""
    echo = Echo()
    echo.pressed(10.0)
    echo.shown()

    assert echo.waits(10.001)


def test_the_second_of_two_keys_is_waited_for_too() -> None:
    """Pressed while the first was on its way."""
    echo = Echo()
    echo.pressed(10.0)
    echo.taken(10.001)
    echo.pressed(10.002)
    echo.shown()

    assert (echo.waits(10.003), echo.due()) == (True, False)
