"""What a person is asked: approvals and questions, as dialogs, and their answers as commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wisp.frontends.tui.dialog import Ask, Choice, Dialog
from wisp.frontends.tui.outside import call_back
from wisp.host.commands import Answer, AnyCommand, Approve, ShowContext
from wisp.host.events import (
    AgentCompleted,
    AgentStarted,
    ContextEstimated,
    QuestionAnswered,
    QuestionAsked,
    ToolApprovalRequested,
    ToolApprovalResolved,
)
from wisp.host.showing import named, safe, shown

if TYPE_CHECKING:
    from wisp.frontends.tui.app import WispApp
    from wisp.frontends.tui.talk import Talk

TRUST = "trust"
ABOUT = {
    "model": "The model asks",
    "turns": "The limit of requests is reached",
    "cost": "The limit of cost is reached",
    "tokens": "The limit of tokens is reached",
    "time": "The limit of time is reached",
    "loop": "The model repeats itself",
    "storage": "The conversation cannot be kept",
    "mcp": "A server asks",
}


def attend(app: WispApp, talk: Talk, event: Any) -> None:
    """What one event asks of the person, or no longer asks."""
    if isinstance(event, ToolApprovalRequested):
        app.dialog.put(approval(event), app.composer.last_key)
        app.below.draw()
        call_back(app, "an operation waits for your word")
    elif isinstance(event, QuestionAsked):
        if event.options:
            app.dialog.put(question(event), app.composer.last_key)
            app.below.draw()
        else:
            talk.note(f"{ABOUT.get(event.about, 'Asked')}: {shown(event.text)}", "warn")
            app.answers.ask(
                "your answer; Enter sends it", lambda text: talk.command(Answer(event.question_id, text))
            )
        call_back(app, "a question waits for your answer")
    elif isinstance(event, ToolApprovalResolved | QuestionAnswered):
        app.close_page("Choosing")
        app.answers.settle()
    elif isinstance(event, AgentCompleted):
        app.answers.settle()
        app.busy(False)
        call_back(app, "the run is over")
        app.keep(talk.command(ShowContext()))
    elif isinstance(event, AgentStarted):
        app.busy(True)
    elif isinstance(event, ContextEstimated):
        app.show_status()


async def ask_trust(app: WispApp, talk: Talk) -> bool:
    """What there is in the folder to trust, and whether it shall be."""
    card = await talk.client.around.trust()
    body = [f"It is {card.state}." if card.state != "undecided" else "Nothing was decided about it yet."]
    if card.found:
        body += ["", "Read only where it is trusted:", *(f"  {name}" for name in card.found)]
    else:
        body += ["", "It holds no instructions, skills or settings of its own."]
    if card.executing:
        body += ["", "Its settings could run something:", *(f"  {line}" for line in card.executing)]
    choices = (
        Choice("allow", ("y", "1"), safe("trust it, as it is now")),
        Choice("revoke", ("r", "2"), safe("never")),
        Choice("forget", ("f", "3"), safe("undecided")),
        Choice("later", ("n", "4", "escape"), safe("not now")),
    )
    words = safe("\n".join(named(line) for line in body))
    ask = Ask(TRUST, safe(f"Trust {named(card.folder)}?"), words, safe(""), choices, lasting=True)
    app.dialog.put(ask, 0.0)  # it was asked for: nobody is writing something else
    return True


async def tell_trust(talk: Talk) -> None:
    """Say at the beginning where a decision about the folder waits."""
    card = await talk.client.around.trust()
    if card.state == "undecided" and not card.trusted and card.found:
        names = ", ".join(named(name) for name in card.found)
        talk.note(f"not read, because this folder is not trusted: {names}. /trust asks about it", "warn")


def approval(request: ToolApprovalRequested) -> Ask:
    """An approval request: the whole operation, why it is asked, and what each answer means."""
    choices = [Choice("once", ("y", "1"), safe("allow once"))]
    if request.session_rule:
        choices.append(Choice("session", ("a", "s", "2"), safe("allow for this session")))
    if request.parts:
        choices.append(Choice("parts", ("p", "5"), safe(f"allow some of {request.parts} hunks")))
    choices += [
        Choice("no", ("n", "3", "escape"), safe("deny")),
        Choice("why", ("m", "4"), safe("deny and say why")),
        Choice("edit", ("e", "6"), safe("edit, then allow")),
        Choice("stop", ("x",), safe("stop the run")),
    ]
    rule = named(request.session_rule)
    note = safe(f"for this session would allow: {rule}" if rule else "")
    title = safe(f"Allow {named(request.summary or request.name)}?")
    return Ask(
        _name(request),
        title,
        shown(request.preview),
        named(request.reason),
        tuple(choices),
        note,
    )


def question(asked: QuestionAsked) -> Ask:
    """A question with answers to choose from."""
    choices = tuple(
        Choice(option, (str(number),) if number < 10 else (chr(87 + number),), named(option))
        for number, option in enumerate(asked.options, 1)
    )
    return Ask(asked.question_id, safe(ABOUT.get(asked.about, "Asked")), shown(asked.text), safe(""), choices)


def answered(app: WispApp, talk: Talk, message: Dialog.Answered) -> None:
    """The person chose."""
    ask, choice = message.ask, message.choice
    if ask.id == TRUST:
        app.dialog.drop()
        app.composer.focus()
        if choice.name != "later":
            app.keep(talk.slash(f"/trust {choice.name}"))
        return
    pending = talk.feed.view.pending
    if pending is None or ask.id != _name(pending):
        app.keep(talk.command(Answer(ask.id, choice.name)))
        return

    def reply(approved: bool, scope: Any = "once", reason: str = "") -> AnyCommand:
        return Approve(pending.call_id, pending.digest, approved, scope, reason)

    if choice.name == "why":
        app.answers.ask(
            "why not? Enter tells the model, Esc goes back to the question",
            lambda text: talk.command(reply(False, reason=text.strip())),
            back=lambda: app.dialog.put(ask, 0.0),
        )
        app.dialog.drop()
    elif choice.name == "edit":
        _edit(app, talk, ask, pending)
    elif choice.name == "parts":
        _choose(app, talk, pending)
    elif choice.name == "stop":
        app.keep(talk.stop())
    else:
        app.keep(talk.command(reply(choice.name != "no", "session" if choice.name == "session" else "once")))


def _edit(app: WispApp, talk: Talk, ask: Ask, pending: ToolApprovalRequested) -> None:
    """Have the person write the operation as they want it; Enter allows that."""
    from wisp.frontends.tui.changing import editable

    words = editable(talk.feed.arguments_of(pending.call_id))
    if words is None:
        app.say_for_a_moment("this call cannot be edited")
        return

    async def allow(text: str) -> bool:
        changed = words.whole(text) if text != words.text else ""
        return await talk.command(Approve(pending.call_id, pending.digest, True, arguments=changed))

    app.answers.ask(
        "the operation as you want it",
        allow,
        back=lambda: app.dialog.put(ask, 0.0),
        hint="enter allows what is written · esc goes back",
        text=words.text,
    )
    app.dialog.drop()


def _choose(app: WispApp, talk: Talk, pending: ToolApprovalRequested) -> None:
    """Have the person choose hunks."""
    from wisp.frontends.tui.changing import Choosing
    from wisp.frontends.tui.hunklist import hunks

    def chosen(parts: tuple[int, ...] | None) -> None:
        if parts is not None:
            app.keep(talk.command(Approve(pending.call_id, pending.digest, True, parts=parts)))

    title = named(pending.summary or pending.name)
    app.push_screen(Choosing(app.look, title, hunks(shown(pending.preview))), chosen)


def _name(request: ToolApprovalRequested) -> str:
    return f"{request.call_id}/{request.digest}"
