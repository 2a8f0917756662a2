"""A conversation as one HTML file: no network, no outside script, usable without a mouse or scripts.

Follows WCAG 2.2 for structure and contrast.  Whatever a model or a tool said is text or inert markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from html import escape
from typing import Any

from wisp.exchange.transcript import Said, Transcript
from wisp.messages.content import Image, Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage, ToolResult, UserMessage

RESULT_CHARACTERS = 200_000
"""Characters of one tool's output that are carried along."""
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def html_page(transcript: Transcript) -> bytes:
    """The conversation as one document."""
    title = " ".join(transcript.title.split()) or "Conversation"
    render = _renderer()
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    body = "\n".join(text for n, one in enumerate(transcript.said, 1) if (text := _said(one, n, render)))
    document = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
<dl>
{_facts(transcript)}
</dl>
</header>
<div class="tools" hidden role="search">
<label for="words">Search</label> <input id="words" type="search">
<span id="found" role="status"></span>
<button type="button" id="open">Open all</button> <button type="button" id="close">Close all</button>
</div>
<main>
{body}
</main>
<script>{script}</script>
</body>
</html>
"""
    return document.encode("utf-8", "replace")


def _facts(transcript: Transcript) -> str:
    cost = transcript.cost_usd
    rows = {
        "Session": transcript.session_id,
        "Folder": transcript.cwd,
        "Model": transcript.model,
        "Cost": "unknown" if cost is None else f"${cost:.4f}",
        "Messages": str(len(transcript.said)),
    }
    return "\n".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in rows.items() if value)


def _said(one: Said, number: int, render: Any) -> str:
    message = one.message
    if isinstance(message, UserMessage):
        who, kind, parts = "You", "user", [_block(block, render) for block in message.content]
    elif isinstance(message, AssistantMessage):
        who, kind, parts = "Agent", "agent", [_block(block, render) for block in message.content]
        if message.error:
            parts.append(f"<p><em>{escape(message.error)}</em></p>")
    elif isinstance(message, ToolResult):
        who, kind, parts = f"Result of {message.name}", "result", [_result(message)]
    else:
        who, kind, parts = "Notice", "notice", [f"<p>{escape(message.text)}</p>"]
    time = (
        f'<time datetime="{escape(one.at)}">{escape(one.at[:19].replace("T", " "))}</time>' if one.at else ""
    )
    inner = "\n".join(part for part in parts if part)
    if not inner:
        return ""
    return (
        f'<article class="{kind}" id="m{number}" aria-labelledby="h{number}">\n'
        f'<h2 id="h{number}">{escape(who)}{time}</h2>\n{inner}\n</article>'
    )


def _block(block: object, render: Any) -> str:
    if isinstance(block, Text):
        return str(render(block.text)).rstrip() if block.text.strip() else ""
    if isinstance(block, Thinking):
        return _folded("Thinking", block.text) if block.text else ""
    if isinstance(block, ToolCall):
        return _folded(f"Calls {block.name} {_gist(block.arguments)}".rstrip(), _pretty(block.arguments))
    if isinstance(block, Image):
        return _picture(block)
    return ""


def _result(message: ToolResult) -> str:
    text = message.text
    more = f"\n[{len(text) - RESULT_CHARACTERS:,} more characters]" if len(text) > RESULT_CHARACTERS else ""
    first = next((line.strip() for line in text.splitlines() if any(map(str.isalnum, line))), "")[:100]
    title = f"{'Failed: ' if message.is_error else ''}{first or 'nothing'}"
    pictures = "".join(_picture(block) for block in message.content if isinstance(block, Image))
    return _folded(title, text[:RESULT_CHARACTERS] + more) + pictures


def _folded(title: str, text: str) -> str:
    return f'<details><summary>{escape(title)}</summary><pre tabindex="0">{escape(text)}</pre></details>'


def _picture(image: Image) -> str:
    try:
        base64.b64decode(image.data, validate=True)
    except ValueError:
        return ""
    if image.media_type not in _PICTURES:
        return f"<p>[{escape(image.media_type)}]</p>"
    return f'<img alt="A picture of the conversation" src="data:{image.media_type};base64,{image.data}">'


def _pretty(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


def _gist(arguments: str) -> str:
    """The first argument that is text, in a few words."""
    try:
        values = json.loads(arguments).values()
    except (ValueError, AttributeError, RecursionError):
        return ""
    return " ".join(next((value for value in values if isinstance(value, str)), "").split())[:80]


def _asset(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _renderer() -> Any:
    """Markdown to HTML, without raw HTML, and without pictures, which would have to be fetched."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    rules: dict[str, Any] = parser.renderer.rules  # type: ignore[attr-defined]

    def heading(tokens: Any, place: int, options: Any, env: Any) -> str:
        # The page has its own h1 and h2; those of a message come below them.
        tag = f"h{min(6, int(tokens[place].tag[1:]) + 2)}"
        return f"<{'/' if tokens[place].nesting < 0 else ''}{tag}>"

    rules["heading_open"] = rules["heading_close"] = heading
    return parser.render
