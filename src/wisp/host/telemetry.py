"""Runs as OpenTelemetry spans, an extension that comes with Wisp; needs the extra `otel`.

A run is `invoke_agent wisp`, each request below it `chat MODEL`, each call `execute_tool NAME`, named by the
semantic conventions for generative AI (0.66b2, in development).  What was said is in no span unless the
option `content` asks for it.  Where spans go is the SDK's business: its `OTEL_*` variables, or the options.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from wisp._version import __version__
from wisp.host.registry import Registry

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

WISP_API = 1
FLUSH_MS = 1_500
"""Milliseconds that sending may take at the end of a run."""
NEEDED = "it needs an extra: pip install 'wisp-agent[otel]'"
_VENDORS = {"gemini": "gcp.gemini", "mistral": "mistral_ai", "xai": "x_ai"}
"""Providers whose name in the conventions is another one."""
_USAGE = (
    ("output_tokens", "gen_ai.usage.output_tokens"),
    ("cache_read_tokens", "gen_ai.usage.cache_read.input_tokens"),
    ("cache_write_tokens", "gen_ai.usage.cache_creation.input_tokens"),
    ("reasoning_tokens", "gen_ai.usage.reasoning.output_tokens"),
)
_PROMPT = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
TYPES = (
    "agent.started",
    "turn.started",
    "message.started",
    "message.completed",
    "turn.completed",
    "tool.call",
    "tool.execution.started",
    "tool.execution.ended",
    "agent.completed",
)


def extend(wisp: Registry) -> None:
    """Observe the conversation.

    Options: `endpoint`, an OTLP/HTTP address for traces; `content`, true to send what was said too;
    `service`, the service's name, `wisp` unless said otherwise.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise ImportError(NEEDED) from None
    options = wisp.options
    name = str(options.get("service") or "wisp")
    made = TracerProvider(resource=Resource.create({"service.name": name, "service.version": __version__}))
    endpoint = str(options.get("endpoint") or "") or None
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, timeout=FLUSH_MS / 1000)))
    wisp.observe(Spans(made, content=options.get("content") is True).take, types=TYPES)


class Spans:
    """Makes spans of a conversation's events, in their order.

    Args:
        provider: where spans go; flushed at the end of each run.
        content: whether words, arguments and results go along.
    """

    def __init__(self, provider: TracerProvider, *, content: bool = False) -> None:
        self._provider = provider
        self._content = content
        self._tracer: Tracer = provider.get_tracer("wisp", __version__)
        self._run: Span | None = None
        self._request: Span | None = None
        self._calls: dict[str, Span] = {}
        self._arguments: dict[str, str] = {}
        self._shared: dict[str, str] = {}
        self._asked = 0

    def take(self, event: Mapping[str, Any]) -> None:
        """One event, as programs get them."""
        at = _nanoseconds(event["at"])
        kind = event["type"]
        if kind == "agent.started":
            self._begin(event, at)
        elif self._run is None:
            return  # it began before this was listening
        elif kind == "turn.started":
            self._ask(event, at)
        elif kind == "message.started" and self._request is not None:
            self._request.set_attribute("gen_ai.response.time_to_first_chunk", (at - self._asked) / 1e9)
        elif kind == "message.completed":
            self._answered(event, at)
        elif kind == "turn.completed":
            self._turned(event, at)
        elif kind == "tool.call":
            self._arguments[event["call_id"]] = event["arguments"]
        elif kind == "tool.execution.started":
            self._call(event, at)
        elif kind == "tool.execution.ended":
            self._called(event, at)
        elif kind == "agent.completed":
            self._end(event, at)

    def _begin(self, event: Mapping[str, Any], at: int) -> None:
        provider = event["provider"]
        self._shared = {
            "gen_ai.provider.name": _VENDORS.get(provider, provider),
            "gen_ai.conversation.id": event["session_id"],
            "gen_ai.request.model": event["model"],
        }
        self._run = self._span("invoke_agent wisp", "invoke_agent", at, None)
        self._run.set_attribute("gen_ai.agent.name", "wisp")
        self._run.set_attribute("gen_ai.agent.version", __version__)

    def _ask(self, event: Mapping[str, Any], at: int) -> None:
        name = f"chat {self._shared['gen_ai.request.model']}"
        self._request, self._asked = self._span(name, "chat", at, self._run, client=True), at

    def _answered(self, event: Mapping[str, Any], at: int) -> None:
        span = self._request
        if span is None:
            return
        message = event["message"]
        usage = message.get("usage") or {}
        prompt = [usage.get(name) for name in _PROMPT]
        if prompt[0] is not None:
            span.set_attribute("gen_ai.usage.input_tokens", sum(part or 0 for part in prompt))
        for ours, theirs in _USAGE:
            if usage.get(ours) is not None:
                span.set_attribute(theirs, usage[ours])
        native = message.get("native") or {}
        if native.get("model"):
            span.set_attribute("gen_ai.response.model", native["model"])
        if native.get("response_id"):
            span.set_attribute("gen_ai.response.id", native["response_id"])
        span.set_attribute("gen_ai.response.finish_reasons", [event["finish_reason"]])
        if self._content:
            span.set_attribute("gen_ai.output.messages", _output(message, event["finish_reason"]))
        span.end(at)
        self._request = None

    def _turned(self, event: Mapping[str, Any], at: int) -> None:
        """A request that brought no whole answer ends with its turn."""
        if self._request is not None:
            _failed(self._request, event["outcome"])
            self._request.end(at)
            self._request = None

    def _call(self, event: Mapping[str, Any], at: int) -> None:
        span = self._span(f"execute_tool {event['name']}", "execute_tool", at, self._run)
        span.set_attribute("gen_ai.tool.name", event["name"])
        span.set_attribute("gen_ai.tool.type", "function")
        span.set_attribute("gen_ai.tool.call.id", event["call_id"])
        self._calls[event["call_id"]] = span

    def _called(self, event: Mapping[str, Any], at: int) -> None:
        span = self._calls.pop(event["call_id"], None)
        arguments = self._arguments.pop(event["call_id"], "")
        if span is None:
            return
        if self._content:
            span.set_attribute("gen_ai.tool.call.arguments", arguments)
            span.set_attribute("gen_ai.tool.call.result", event["output"])
        if event["is_error"]:
            _failed(span, event["failure_code"] or "error")
        span.end(at)

    def _end(self, event: Mapping[str, Any], at: int) -> None:
        assert self._run is not None
        for span in (*self._calls.values(), *([self._request] if self._request else ())):
            _failed(span, "cancelled")
            span.end(at)
        self._calls.clear()
        self._arguments.clear()
        if event["stop_reason"] != "model_finished":
            _failed(self._run, event["stop_reason"], event["error"])
        self._run.end(at)
        self._run = self._request = None
        self._provider.force_flush(FLUSH_MS)

    def _span(self, name: str, operation: str, at: int, parent: Span | None, *, client: bool = False) -> Span:
        from opentelemetry.trace import SpanKind, set_span_in_context

        return self._tracer.start_span(
            name,
            set_span_in_context(parent) if parent is not None else None,
            SpanKind.CLIENT if client else SpanKind.INTERNAL,
            {"gen_ai.operation.name": operation, **self._shared},
            start_time=at,
        )


def _failed(span: Span, kind: str, words: str = "") -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR, words or kind))


def _output(message: Mapping[str, Any], reason: str) -> str:
    """An answer in the form of `gen_ai.output.messages`."""
    parts: list[dict[str, Any]] = []
    for block in message.get("content", ()):
        if block["type"] == "text":
            parts.append({"type": "text", "content": block["text"]})
        elif block["type"] == "tool_call":
            call = {"id": block["id"], "name": block["name"], "arguments": _object(block["arguments"])}
            parts.append({"type": "tool_call", **call})
    return json.dumps([{"role": "assistant", "parts": parts, "finish_reason": reason}])


def _object(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _nanoseconds(at: str) -> int:
    """An RFC 3339 time in UTC as nanoseconds since 1970."""
    return round(datetime.fromisoformat(at).timestamp() * 1000) * 1_000_000
