"""Steps as the bytes each dialect streams, true to the vendors' formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from wisp.testing.steps import Call, Step

MODEL = "scripted-model"


def frames(dialect: str, step: Step, number: int) -> Iterator[bytes]:
    """The events of one answer, each as it goes over the wire."""
    if step.raw:
        return iter((step.raw.encode("utf-8", "surrogateescape"),))
    return _ENCODERS[dialect](step, number)


def call_id(call: Call, number: int, place: int) -> str:
    """The id the server gives to a call without one."""
    return call.id or f"call_{number}_{place}"


def said_items(step: Step, number: int) -> list[dict[str, Any]]:
    """An answer as the input items that a Responses service would remember."""
    calls: list[dict[str, Any]] = [
        {"type": "function_call", "call_id": call_id(call, number, place), "name": call.name}
        for place, call in enumerate(step.calls)
    ]
    return [{"role": "assistant", "content": step.text}, *calls] if step.text else calls


def error_body(dialect: str, status: int, kind: str = "", message: str = "") -> bytes:
    """An error in the dialect's own shape."""
    message = message or f"scripted failure {status}"
    if dialect == "messages":
        names = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error"}
        names |= {404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error"}
        name = kind or names.get(status) or ("overloaded_error" if status == 529 else "api_error")
        return _json({"type": "error", "error": {"type": name, "message": message}, "request_id": "req_1"})
    if dialect == "gemini":
        names = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}
        word = kind or names.get(status, "INTERNAL")
        return _json({"error": {"code": status, "message": message, "status": word}})
    name = kind or ("rate_limit_exceeded" if status == 429 else "server_error" if status >= 500 else "")
    error: dict[str, Any] = {
        "message": message,
        "type": name or "invalid_request_error",
        "param": None,
        "code": name or None,
    }
    return _json({"error": error})


def error_frame(dialect: str, kind: str) -> bytes:
    """An error in the middle of a stream."""
    if dialect == "messages":
        return _event({"type": "error", "error": {"type": kind, "message": "scripted failure"}}, "error")
    if dialect == "responses":
        fields: dict[str, Any] = {"code": kind, "message": "scripted failure", "param": None}
        return _event({"type": "error", **fields, "sequence_number": 99}, "error")
    return _event({"error": {"message": "scripted failure", "type": kind, "code": kind, "param": None}})


def _chat(step: Step, number: int) -> Iterator[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return _event({**base, "choices": [choice]})

    base = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(step.thinking, step.delta):
        yield chunk({"reasoning_content": piece})
    for piece in _pieces(step.text, step.delta):
        yield chunk({"content": piece})
    for place, call in enumerate(step.calls):
        function = {"name": call.name, "arguments": ""}
        head = {"index": place, "id": call_id(call, number, place), "type": "function", "function": function}
        yield chunk({"tool_calls": [head]})
        for piece in _pieces(call.text, step.delta):
            yield chunk({"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
    yield chunk({}, step.stop or ("tool_calls" if step.calls else "stop"))
    use = _usage(step)
    prompt = use["input"] + use["cache_read"] + use["cache_write"]
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": use["output"],
        "total_tokens": prompt + use["output"],
        "prompt_tokens_details": {
            "cached_tokens": use["cache_read"],
            "cache_write_tokens": use["cache_write"],
        },
        "completion_tokens_details": {"reasoning_tokens": use["reasoning"]},
    }
    yield _event({**base, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _responses(step: Step, number: int) -> Iterator[bytes]:
    sequence = iter(range(1_000_000))

    def event(kind: str, **fields: Any) -> bytes:
        return _event({"type": kind, "sequence_number": next(sequence), **fields}, kind)

    base = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": MODEL,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    started = {**base, "status": "in_progress"}
    yield event("response.created", response=started)
    yield event("response.in_progress", response=started)
    output: list[dict[str, Any]] = []
    for item in _response_items(step, number):
        yield from _response_item(event, item, len(output), step.delta)
        output.append(item)
    use = _usage(step)
    prompt = use["input"] + use["cache_read"] + use["cache_write"]
    usage = {
        "input_tokens": prompt,
        "input_tokens_details": {
            "cached_tokens": use["cache_read"],
            "cache_write_tokens": use["cache_write"],
        },
        "output_tokens": use["output"],
        "output_tokens_details": {"reasoning_tokens": use["reasoning"]},
        "total_tokens": prompt + use["output"],
    }
    done: dict[str, Any] = {**base, "status": "completed", "output": output, "usage": usage}
    if step.stop and step.stop != "completed":
        done |= {"status": "incomplete", "incomplete_details": {"reason": step.stop}}
    yield event(f"response.{done['status']}", response=done)


def _response_items(step: Step, number: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if step.thinking:
        summary = [{"type": "summary_text", "text": step.thinking}]
        items.append(
            {
                "type": "reasoning",
                "id": f"rs_{number}",
                "summary": summary,
                "encrypted_content": f"sealed-{number}",
            }
        )
    if step.text:
        part = {"type": "output_text", "text": step.text, "annotations": []}
        items.append(
            {
                "type": "message",
                "id": f"msg_{number}",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        )
    for place, call in enumerate(step.calls):
        items.append(
            {
                "type": "function_call",
                "id": f"fc_{number}_{place}",
                "call_id": call_id(call, number, place),
                "name": call.name,
                "arguments": call.text,
                "status": "completed",
            }
        )
    return items


def _response_item(event: Any, item: dict[str, Any], index: int, size: int) -> Iterator[bytes]:
    place = {"item_id": item["id"], "output_index": index}
    if item["type"] == "reasoning":
        text = item["summary"][0]["text"]
        yield event("response.output_item.added", output_index=index, item={**item, "summary": []})
        part = {"type": "summary_text", "text": ""}
        yield event("response.reasoning_summary_part.added", **place, summary_index=0, part=part)
        for piece in _pieces(text, size):
            yield event("response.reasoning_summary_text.delta", **place, summary_index=0, delta=piece)
        yield event("response.reasoning_summary_text.done", **place, summary_index=0, text=text)
        yield event("response.reasoning_summary_part.done", **place, summary_index=0, part=item["summary"][0])
    elif item["type"] == "message":
        part = item["content"][0]
        opened = {**item, "status": "in_progress", "content": []}
        yield event("response.output_item.added", output_index=index, item=opened)
        yield event("response.content_part.added", **place, content_index=0, part={**part, "text": ""})
        for piece in _pieces(part["text"], size):
            yield event("response.output_text.delta", **place, content_index=0, delta=piece, logprobs=[])
        yield event("response.output_text.done", **place, content_index=0, text=part["text"], logprobs=[])
        yield event("response.content_part.done", **place, content_index=0, part=part)
    else:
        opened = {**item, "status": "in_progress", "arguments": ""}
        yield event("response.output_item.added", output_index=index, item=opened)
        for piece in _pieces(item["arguments"], size):
            yield event("response.function_call_arguments.delta", **place, delta=piece)
        done = {"name": item["name"], "arguments": item["arguments"]}
        yield event("response.function_call_arguments.done", **place, **done)
    yield event("response.output_item.done", output_index=index, item=item)


def _messages(step: Step, number: int) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return _event({"type": kind, **fields}, kind)

    use = _usage(step)
    usage = {
        "input_tokens": use["input"],
        "output_tokens": 1,
        "cache_creation_input_tokens": use["cache_write"],
        "cache_read_input_tokens": use["cache_read"],
    }
    message: dict[str, Any] = {
        "id": f"msg_{number:04d}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield event("message_start", message=message)
    yield event("ping")
    for index, (start, kind, field, text) in enumerate(_message_blocks(step, number)):
        yield event("content_block_start", index=index, content_block=start)
        for piece in _pieces(text, step.delta):
            yield event("content_block_delta", index=index, delta={"type": kind, field: piece})
        if kind == "thinking_delta":
            signature = {"type": "signature_delta", "signature": f"signed-{number}"}
            yield event("content_block_delta", index=index, delta=signature)
        yield event("content_block_stop", index=index)
    stop = step.stop or ("tool_use" if step.calls else "end_turn")
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": use["output"]})
    yield event("message_stop")


def _gemini(step: Step, number: int) -> Iterator[bytes]:
    def chunk(parts: list[Any], finish: str = "", **fields: Any) -> bytes:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        named = {"modelVersion": MODEL, "responseId": f"response_{number}"}
        return _event({"candidates": [candidate], **named, **fields})

    for piece in _pieces(step.thinking, step.delta):
        yield chunk([{"text": piece, "thought": True}])
    for piece in _pieces(step.text, step.delta):
        yield chunk([{"text": piece}])
    for place, call in enumerate(step.calls):
        arguments = msgspec.Raw((call.text or "{}").encode())
        made = {"id": call_id(call, number, place), "name": call.name, "args": arguments}
        part: dict[str, Any] = {"functionCall": made}
        if place == 0:
            part["thoughtSignature"] = f"signed-{number}"
        yield chunk([part])
    use = _usage(step)
    usage = {
        "promptTokenCount": use["input"] + use["cache_read"] + use["cache_write"],
        "cachedContentTokenCount": use["cache_read"],
        "candidatesTokenCount": use["output"] - use["reasoning"],
        "thoughtsTokenCount": use["reasoning"],
    }
    yield chunk([{"text": ""}], step.stop or "STOP", usageMetadata=usage)


def _usage(step: Step) -> dict[str, int]:
    made = {
        "input": 100,
        "output": max(1, len(step.text) // 4),
        "cache_read": 0,
        "cache_write": 0,
        "reasoning": 0,
    }
    return made | step.usage


def _message_blocks(step: Step, number: int) -> list[tuple[dict[str, Any], str, str, str]]:
    """Each block's opening, the type and field of its deltas, and its text."""
    blocks: list[tuple[dict[str, Any], str, str, str]] = []
    if step.thinking:
        start: dict[str, Any] = {"type": "thinking", "thinking": "", "signature": ""}
        blocks.append((start, "thinking_delta", "thinking", step.thinking))
    if step.text:
        blocks.append(({"type": "text", "text": ""}, "text_delta", "text", step.text))
    for place, call in enumerate(step.calls):
        start = {"type": "tool_use", "id": call_id(call, number, place), "name": call.name, "input": {}}
        blocks.append((start, "input_json_delta", "partial_json", call.text))
    return blocks


def _cached(use: dict[str, int]) -> dict[str, int]:
    return {"cached_tokens": use["cache_read"], "cache_write_tokens": use["cache_write"]}


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[place : place + size] for place in range(0, len(text), max(size, 1)))


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value)


def _event(value: dict[str, Any], name: str = "") -> bytes:
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + _json(value) + b"\n\n"


_ENCODERS = {"chat": _chat, "responses": _responses, "messages": _messages, "gemini": _gemini}
