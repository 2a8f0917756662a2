"""The least a Python agent loop can cost: what every figure is measured beside, in the same run.

    python floor.py BASE_URL PROMPT

One streamed Chat Completions request a turn, the whole history each time, arguments put together from their
pieces, three tools without any care.  No session, no policy, no limits: it exists to be subtracted.
"""

import http.client
import json
import pathlib
import subprocess
import sys
from urllib.parse import urlsplit

SCHEMAS = {"read": ["path"], "grep": ["pattern"], "bash": ["command"]}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": name,
            "parameters": {"type": "object", "properties": {key: {"type": "string"} for key in keys}},
        },
    }
    for name, keys in SCHEMAS.items()
]


def execute(name, arguments):
    if name == "read":
        return pathlib.Path(arguments["path"]).read_text()
    command = arguments.get("command") or f"grep -rn {arguments['pattern']} ."
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def ask(connection, path, history):
    body = {"model": "m", "stream": True, "messages": history, "tools": TOOLS}
    connection.request("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    response, text, calls = connection.getresponse(), [], {}
    while line := response.readline():
        if not line.startswith(b"data: {"):
            continue
        for choice in json.loads(line[6:]).get("choices", ()):
            delta = choice["delta"]
            if piece := delta.get("content"):
                text.append(piece)
                sys.stdout.write(piece)
                sys.stdout.flush()
            for call in delta.get("tool_calls") or ():
                kept = calls.setdefault(call["index"], {"id": call.get("id"), "name": "", "arguments": ""})
                kept["name"] += call["function"].get("name") or ""
                kept["arguments"] += call["function"].get("arguments") or ""
    return "".join(text), list(calls.values())


def main():
    url = urlsplit(sys.argv[1])
    connection = http.client.HTTPConnection(url.hostname, url.port)
    history = [
        {"role": "system", "content": "You are a coding agent."},
        {"role": "user", "content": sys.argv[2]},
    ]
    while True:
        text, calls = ask(connection, url.path + "/chat/completions", history)
        message = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [
                {
                    "id": c["id"],
                    "type": "function",
                    "function": {"name": c["name"], "arguments": c["arguments"]},
                }
                for c in calls
            ]
        history.append(message)
        if not calls:
            return
        for call in calls:
            output = execute(call["name"], json.loads(call["arguments"]))
            history.append({"role": "tool", "tool_call_id": call["id"], "content": output})


main()
