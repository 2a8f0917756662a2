"""An authorization server on loopback, strict about what RFC 6749, 7636 and 8628 ask of a client.

It says no with the errors of the standards, rotates refresh tokens, and ends the whole login when an old
one comes back, as the security guidance for OAuth (RFC 9700, 4.14.2) wants.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


class AuthorizationServer:
    """A context manager; what it saw is in `forms` and `authorizations`."""

    def __init__(self, *, lives: float = 3600.0, slow: float = 0.0, rotates: bool = True) -> None:
        self.lives, self.slow, self.rotates = lives, slow, rotates
        self.forms: list[dict[str, str]] = []
        self.device_answers: list[str] = []
        """Errors the next polls get, in order; then a token."""
        self.interval: int | None = 1
        self.device_lives = 900
        self.codes: dict[str, dict[str, str]] = {}
        self.refresh = ""
        self.access: set[str] = set()
        self.void = False
        self.fail: tuple[int, bytes] | None = None
        self._count = 0
        self._lock = threading.Lock()

    def __enter__(self) -> AuthorizationServer:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                if self.path == "/.well-known/oauth-authorization-server/tenant":
                    self._send(200, owner.metadata())
                else:
                    self._send(404, {"error": "not_found"})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                assert self.headers["content-type"] == "application/x-www-form-urlencoded"
                form = {name: values[0] for name, values in parse_qs(body, strict_parsing=True).items()}
                if owner.fail is not None:
                    self._raw(*owner.fail)
                elif self.path == "/token":
                    self._send(*owner.token(form))
                elif self.path == "/revoke":
                    self._raw(*owner.revoke(form))
                elif self.path == "/device":
                    self._send(200, owner.device(form))
                else:
                    self._send(404, {})

            def _send(self, status: int, value: dict[str, Any]) -> None:
                self._raw(status, json.dumps(value).encode())

            def _raw(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("cache-control", "no-store")
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
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def settings(self, **more: Any) -> dict[str, Any]:
        """The `[providers.x.oauth]` table."""
        return {
            "client_id": "wisp-cli",
            "authorization_url": self.url + "/authorize",
            "token_url": self.url + "/token",
            "device_url": self.url + "/device",
            "scopes": ["chat", "models:read"],
            **more,
        }

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.url + "/tenant",
            "authorization_endpoint": self.url + "/authorize",
            "token_endpoint": self.url + "/token",
            "device_authorization_endpoint": self.url + "/device",
            "revocation_endpoint": self.url + "/revoke",
        }

    def agree(self, address: str) -> tuple[str, dict[str, str]]:
        """What the person's browser does: check the question as a server does, and agree."""
        split = urlsplit(address)
        asked = {name: values[0] for name, values in parse_qs(split.query, strict_parsing=True).items()}
        assert f"{split.scheme}://{split.netloc}{split.path}" == self.url + "/authorize"
        assert asked["response_type"] == "code"
        assert asked["client_id"] == "wisp-cli"
        assert asked["code_challenge_method"] == "S256"
        assert asked["scope"] == "chat models:read"
        assert len(asked["state"]) >= 32
        code = self._new("code")
        self.codes[code] = asked
        return code, asked

    def device(self, form: dict[str, str]) -> dict[str, Any]:
        self.forms.append(form)
        answer = {
            "device_code": "dev-1",
            "user_code": "WDJB-MJHT",
            "verification_uri": self.url + "/go",
            "verification_uri_complete": self.url + "/go?code=WDJB-MJHT",
            "expires_in": self.device_lives,
        }
        return answer if self.interval is None else {**answer, "interval": self.interval}

    def token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        with self._lock:
            self.forms.append(form)
            if form.get("client_id") != "wisp-cli":
                return 401, {"error": "invalid_client"}
            kind = form["grant_type"]
            if kind == "authorization_code":
                return self._from_code(form)
            if kind == DEVICE_GRANT:
                assert form["device_code"] == "dev-1"
                if self.device_answers:
                    return 400, {"error": self.device_answers.pop(0)}
                return 200, self.issue()
            assert kind == "refresh_token", kind
            if self.slow:
                time.sleep(self.slow)
            if self.void or form["refresh_token"] != self.refresh:
                self.void = True  # an old one came back: somebody stole it, the login ends
                return 400, {"error": "invalid_grant", "error_description": "refresh token re-used"}
            return 200, self.issue()

    def revoke(self, form: dict[str, str]) -> tuple[int, bytes]:
        """RFC 7009, 2.2: a token nobody knows is a success as well."""
        self.forms.append(form)
        if form.get("client_id") != "wisp-cli":
            return 401, b'{"error":"invalid_client"}'
        if form["token"] == self.refresh:
            self.refresh = ""
        self.access.discard(form["token"])
        return 200, b""

    def _from_code(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        asked = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or asked["redirect_uri"] != form["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        if asked["code_challenge"] != proof or not 43 <= len(form["code_verifier"]) <= 128:
            return 400, {"error": "invalid_grant", "error_description": "PKCE"}
        return 200, self.issue()

    def issue(self) -> dict[str, Any]:
        access = self._new("access")
        self.access.add(access)
        answer = {"access_token": access, "token_type": "Bearer", "expires_in": self.lives, "scope": "chat"}
        if self.rotates or not self.refresh:
            self.refresh = answer["refresh_token"] = self._new("refresh")
        return answer

    def _new(self, kind: str) -> str:
        self._count += 1
        return f"{kind}-canary-{self._count:04d}"
