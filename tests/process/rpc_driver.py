"""Drives `wisp rpc` with the client of whichever build is on the path; prints what came of it as one object.

python rpc_driver.py ARGV...    the command that starts the other side
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import aclosing
from typing import Any

import wisp
from wisp.frontends.rpc.client import RpcClient
from wisp.host import queries as ask
from wisp.host.client import CommandRefused
from wisp.host.commands import Approve, Configure, FollowUp, Name, Prompt
from wisp.host.events import AgentCompleted, ToolApprovalRequested


async def drive(argv: list[str]) -> dict[str, Any]:
    """A run with an approval and a follow-up, then everything that can be asked about it."""
    found: dict[str, Any] = {"approvals": [], "events": []}
    async with await RpcClient.start(argv) as client:
        await client.send(Configure(permission_mode="ask"))
        async with aclosing(client.events()) as events:
            await client.send(Prompt("Write it."))
            async for envelope in events:
                event = envelope.event
                found["events"].append(str(event.__struct_config__.tag))
                if isinstance(event, ToolApprovalRequested):
                    found["approvals"].append(event.preview)
                    await client.send(FollowUp("And now?"))
                    await client.send(Approve(event.call_id, event.digest, approved=True))
                if isinstance(event, AgentCompleted):
                    break
        await client.send(Name("a name"))
        try:
            await client.send(Approve("none", "none", approved=True))
        except CommandRefused:
            found["refused"] = True
        again = await client.run("Once more.")
        page = await client.query(ask.GetMessages(limit=50))
        state = await client.query(ask.GetState())
        stats = await client.query(ask.GetStats())
        found |= {
            "answer": again.answer,
            "stop": again.stop_reason,
            "view": client.view.run.answer,
            "tokens": [again.usage.input_tokens, again.usage.output_tokens],
            "messages": [getattr(message, "text", "") for message in page.messages],
            "total": page.total,
            "state": [state.running, state.snapshot.permission_mode, state.view.run.turns],
            "turns": stats.turns,
            "server": client.server.name,
        }
    found["skipped"], found["build"] = client.skipped, wisp.__file__
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(drive(sys.argv[1:]))))
