"""Small servers that answer as Ollama, llama.cpp, LM Studio and vLLM do: the fields are from their own
documentation and from answers of real ones, cut to what a client could look at."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from wisp.testing.frames import frames
from wisp.testing.steps import Step

Routes = dict[str, Any]

OLLAMA: Routes = {
    "GET /v1/models": {
        "object": "list",
        "data": [
            {"id": "nomic-embed-text:latest", "object": "model", "created": 1, "owned_by": "library"},
            {"id": "qwen3:8b", "object": "model", "created": 1, "owned_by": "library"},
            {"id": "llama3.2:3b", "object": "model", "created": 1, "owned_by": "library"},
        ],
    },
    "POST /api/show": {
        "parameters": 'stop                           "<|im_end|>"\ntemperature                    0.6',
        "details": {"family": "qwen3", "parameter_size": "8.2B", "quantization_level": "Q4_K_M"},
        "model_info": {
            "general.architecture": "qwen3",
            "qwen3.block_count": 36,
            "qwen3.context_length": 40960,
            "qwen3.embedding_length": 4096,
        },
        "capabilities": ["completion", "tools", "thinking"],
    },
    "GET /api/ps": {"models": []},
}
LOADED = {"models": [{"name": "qwen3:8b", "model": "qwen3:8b", "size_vram": 5, "context_length": 4096}]}
LLAMA_CPP: Routes = {
    "GET /v1/models": {
        "object": "list",
        "models": [{"name": "qwen.gguf", "model": "qwen.gguf", "type": "model"}],
        "data": [
            {
                "id": "qwen.gguf",
                "object": "model",
                "created": 1,
                "owned_by": "llamacpp",
                "meta": {"vocab_type": 2, "n_vocab": 151936, "n_ctx_train": 262144, "n_embd": 2048},
            }
        ],
    },
    "GET /props": {
        "default_generation_settings": {"params": {"seed": 4294967295, "temperature": 0.8}, "n_ctx": 16384},
        "total_slots": 1,
        "model_path": "/models/qwen.gguf",
    },
}
LM_STUDIO: Routes = {
    "GET /v1/models": {
        "object": "list",
        "data": [
            {
                "id": "text-embedding-nomic-embed-text-v1.5",
                "object": "model",
                "owned_by": "organization_owner",
            },
            {"id": "qwen/qwen3-8b", "object": "model", "owned_by": "organization_owner"},
        ],
    },
    "GET /api/v0/models": {
        "object": "list",
        "data": [
            {
                "id": "qwen/qwen3-8b",
                "object": "model",
                "type": "llm",
                "arch": "qwen3",
                "state": "loaded",
                "max_context_length": 40960,
                "loaded_context_length": 8192,
            }
        ],
    },
}
VLLM: Routes = {
    "GET /v1/models": {
        "object": "list",
        "data": [
            {
                "id": "Qwen/Qwen3-8B",
                "object": "model",
                "created": 1,
                "owned_by": "vllm",
                "root": "Qwen/Qwen3-8B",
                "parent": None,
                "max_model_len": 32768,
            }
        ],
    },
}
PRODUCTS = {"ollama": OLLAMA, "llama.cpp": LLAMA_CPP, "lmstudio": LM_STUDIO, "vllm": VLLM}


class LocalServer:
    """One of them; a context manager.  Chat requests are answered with `from here`."""

    def __init__(self, routes: Routes, *, delay: float = 0.0, status: int = 200) -> None:
        self._routes, self._delay, self._status = routes, delay, status
        self.asked: list[str] = []
        self.bodies: list[dict[str, Any]] = []

    def __enter__(self) -> LocalServer:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                self._answer()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                owner.bodies.append(json.loads(body))
                self._answer()

            def _answer(self) -> None:
                asked = f"{self.command} {self.path}"
                owner.asked.append(asked)
                time.sleep(owner._delay)
                kind = "application/json"
                if self.path.endswith("/chat/completions"):
                    kind, body = "text/event-stream", b"".join(frames("chat", Step("from here"), 1))
                elif asked in owner._routes:
                    found = owner._routes[asked]
                    body = found if isinstance(found, bytes) else json.dumps(found).encode()
                else:
                    body = b'{"error": "not found"}'
                known = asked in owner._routes or kind != "application/json"
                self.send_response(owner._status if known else 404)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"
