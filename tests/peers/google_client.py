"""Runs in an environment of its own that holds Google's SDK; speaks JSON on standard input and output.

{"validate": [BODY, ...]}   what the SDK's own types say of request bodies: a list of problems each
{"stream": BASE_URL}        two turns with tools through the SDK's client, and what it made of them
"""

import json
import sys

from google import genai
from google.genai import types

PARTS = {
    "contents": lambda value: [types.Content.model_validate(item) for item in value],
    "systemInstruction": types.Content.model_validate,
    "tools": lambda value: [types.Tool.model_validate(item) for item in value],
    "generationConfig": types.GenerationConfig.model_validate,
}


def problems(body):
    found = [f"unknown field {name}" for name in body if name not in PARTS]
    for name, check in PARTS.items():
        if name in body:
            try:
                check(body[name])
            except ValueError as exc:
                found.append(f"{name}: {exc}"[:600])
    return found


def stream(base_url):
    client = genai.Client(
        api_key="k", http_options=types.HttpOptions(base_url=base_url, api_version="v1beta")
    )
    contents = [types.Content(role="user", parts=[types.Part(text="go")])]
    turns = []
    for _ in range(2):
        parts = []
        usage = reason = None
        for chunk in client.models.generate_content_stream(model="m", contents=contents):
            candidate = chunk.candidates[0]
            parts += (candidate.content.parts if candidate.content else None) or []
            usage = chunk.usage_metadata or usage
            reason = candidate.finish_reason or reason
        calls = [part.function_call for part in parts if part.function_call]
        turns.append(
            {
                "text": "".join(p.text for p in parts if p.text and not p.thought),
                "thoughts": "".join(p.text for p in parts if p.text and p.thought),
                "calls": [[call.name, call.args] for call in calls],
                "signed": any(part.thought_signature for part in parts),
                "reason": reason.value,
                "prompt": usage.prompt_token_count,
            }
        )
        contents.append(types.Content(role="model", parts=parts))
        answers = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=call.id, name=call.name, response={"output": "content"}
                )
            )
            for call in calls
        ]
        contents.append(types.Content(role="user", parts=answers or [types.Part(text="and")]))
    return turns


def main():
    asked = json.load(sys.stdin)
    if "validate" in asked:
        answer = [problems(body) for body in asked["validate"]]
    else:
        answer = stream(asked["stream"])
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
