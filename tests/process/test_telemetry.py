"""Runs as OpenTelemetry spans: a collector of others' making reads what arrives, named as the conventions name it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes
from process.program import Program
from process.server import ServerThread

from wisp.testing.steps import Fault, Step

pytestmark = pytest.mark.process

NAMES = {
    value
    for module in (gen_ai_attributes, error_attributes)
    for value in vars(module).values()
    if isinstance(value, str)
}
STEPS = [
    {
        "text": "I look.",
        "calls": [{"name": "ls", "arguments": {}}, {"name": "read", "arguments": {"path": "none"}}],
    },
    {
        "text": "The word is kingfisher.",
        "usage": {"input": 40, "cache_read": 60, "output": 7, "reasoning": 2},
    },
]


class Collector:
    """An OTLP/HTTP endpoint."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resources: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                request = ExportTraceServiceRequest.FromString(body)
                for group in request.resource_spans:
                    outer.resources.append({a.key: a.value.string_value for a in group.resource.attributes})
                    outer.spans += [span for scope in group.scope_spans for span in scope.spans]
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/traces"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def named(self, name: str) -> Any:
        """The only span of that name."""
        [found] = [span for span in self.spans if span.name == name]
        return found


def facts(span: Any) -> dict[str, Any]:
    """A span's attributes."""
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def run(tmp_path: Path, collector: Collector, steps: list[Any], options: str = "") -> int:
    """One headless run; its exit code."""
    with ServerThread(steps) as server:
        more = f'[extensions.otel]\noptions = {{ endpoint = "{collector.url}"{options} }}'
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"), more=more)
        done = program.run("-p", "go", "--max-retries", "0")
    assert "extension" not in done.stderr, done.stderr
    return done.returncode


def test_a_run_its_requests_and_its_calls_are_spans_below_each_other(
    tmp_path: Path, collector: Collector
) -> None:
    """Also in a run that ends at once; every name is one of the conventions, and nothing that was said is there."""
    assert run(tmp_path, collector, STEPS) == 0
    whole = collector.named("invoke_agent wisp")
    assert sorted(span.name for span in collector.spans) == [
        "chat test-model", "chat test-model", "execute_tool ls", "execute_tool read", "invoke_agent wisp",
    ]  # fmt: skip
    assert {span.parent_span_id for span in collector.spans} == {b"", whole.span_id}
    assert len({span.trace_id for span in collector.spans}) == 1
    for span in collector.spans:
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        assert whole.start_time_unix_nano <= span.start_time_unix_nano
        assert span.end_time_unix_nano <= whole.end_time_unix_nano
        assert facts(span).keys() <= NAMES
        assert facts(span)["gen_ai.request.model"] == "test-model"
        assert len(facts(span)["gen_ai.conversation.id"]) == 26
    last = facts([span for span in collector.spans if span.name == "chat test-model"][-1])
    assert last["gen_ai.usage.input_tokens"] == 100 and last["gen_ai.usage.cache_read.input_tokens"] == 60
    assert last["gen_ai.usage.output_tokens"] == 7 and last["gen_ai.usage.reasoning.output_tokens"] == 2
    read = collector.named("execute_tool read")
    assert facts(read)["error.type"] == "not_found" and read.status.code == 2
    assert "kingfisher" not in str(collector.spans) and "none" not in str(facts(read).values())
    assert collector.resources[0]["service.name"] == "wisp"


def test_what_was_said_goes_along_only_where_it_is_asked_for(tmp_path: Path, collector: Collector) -> None:
    """Answers in the form of the conventions."""
    assert run(tmp_path, collector, STEPS, ", content = true") == 0
    texts = [facts(span).get("gen_ai.output.messages", "") for span in collector.spans]
    said = [json.loads(text) for text in texts if text]
    assert said[-1] == [
        {
            "role": "assistant",
            "parts": [{"type": "text", "content": "The word is kingfisher."}],
            "finish_reason": "stop",
        }
    ]
    assert facts(collector.named("execute_tool read"))["gen_ai.tool.call.arguments"] == '{"path":"none"}'


def test_a_run_that_fails_is_a_failed_span(tmp_path: Path, collector: Collector) -> None:
    """And so is the request that brought no answer."""
    assert run(tmp_path, collector, [Step(text="x", fault=Fault(status=500, times=9))]) == 4
    assert facts(collector.named("invoke_agent wisp"))["error.type"] == "provider_failure"
    assert collector.named("chat test-model").status.code == 2


def test_a_collector_that_never_answers_does_not_hold_the_exit(tmp_path: Path) -> None:
    """The end of a run waits for observers two seconds at most."""
    import socket
    import time

    with socket.create_server(("127.0.0.1", 0)) as deaf:
        quiet = Collector()
        quiet.url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1/traces"
        began = time.monotonic()
        assert run(tmp_path, quiet, [{"text": "done"}]) == 0
        assert time.monotonic() - began < 20
        quiet.close()
