"""Where a key comes from, in which order, and that nobody is shown one."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.configure import configure
from wisp.host.credentials import CredentialFile, Stored
from wisp.host.keys import Keys
from wisp.host.models import Choice, ConfigError, choose
from wisp.host.secrets import StoredLogins
from wisp.host.settings import Layer, merge
from wisp.messages.ids import SystemClock

KEY = "sk-canary-0123456789"
TABLE = {"base_url": "http://127.0.0.1:9/v1", "api_key_env": "LOCAL_KEY", "api_key_command": ["pass", "x"]}


def pick(
    tmp_path: Path, values: dict[str, Any], env: dict[str, str] | None = None, printed: str = ""
) -> Choice:
    settings = merge([Layer("test", values)]).settings
    logins = StoredLogins(str(tmp_path / "credentials.json"))
    return choose(settings, env or {}, lambda argv: printed, dead_after=None, logins=logins)


def store(tmp_path: Path, **stored: Stored) -> None:
    file = CredentialFile(str(tmp_path / "credentials.json"))
    for name, value in stored.items():
        file.put(name, value)


def test_environment_then_command_then_file(tmp_path: Path) -> None:
    store(tmp_path, local=Stored("key", "from-file"))
    values = {"model": "local/m", "providers": {"local": TABLE}}
    bare = {"model": "local/m", "providers": {"local": {**TABLE, "api_key_command": []}}}
    found = [
        pick(tmp_path, values, {"LOCAL_KEY": "from-env"}, "from-command"),
        pick(tmp_path, values, {"LOCAL_KEY": "  "}, "from-command"),
        pick(tmp_path, bare),
    ]
    assert [choice.endpoint.key.reveal() for choice in found] == ["from-env", "from-command", "from-file"]


def test_the_file_is_not_opened_while_something_before_it_has_the_key(tmp_path: Path) -> None:
    (tmp_path / "credentials.json").write_text("broken")
    values = {"model": "local/m", "providers": {"local": TABLE}}
    assert pick(tmp_path, values, {"LOCAL_KEY": "k"}).endpoint.key.reveal() == "k"
    with pytest.raises(ConfigError, match=r"credentials\.json: .*others may open it"):
        pick(tmp_path, {**values, "providers": {"local": {"base_url": "http://127.0.0.1:9/v1"}}})


def test_a_login_alone_chooses_its_vendor_and_an_environment_key_wins(tmp_path: Path) -> None:
    store(tmp_path, anthropic=Stored("key", KEY))
    assert pick(tmp_path, {}).endpoint.name == "anthropic"
    assert pick(tmp_path, {}, {"OPENAI_API_KEY": "k"}).endpoint.name == "openai"
    assert pick(tmp_path, {"model": "claude-sonnet-5"}).endpoint.key.reveal() == KEY
    with pytest.raises(ConfigError, match="configured: anthropic"):
        pick(tmp_path, {"model": "nobody/m"})


def test_an_address_without_a_provider_gets_no_stored_key(tmp_path: Path) -> None:
    store(tmp_path, custom=Stored("key", KEY))
    assert not pick(tmp_path, {"base_url": "http://somewhere/v1", "model": "m"}).endpoint.key


@pytest.mark.parametrize("api", ["openai-chat", "openai-responses", "anthropic-messages", "gemini"])
def test_an_access_token_goes_out_as_one_in_every_dialect(tmp_path: Path, api: str) -> None:
    from wisp.providers.registry import build_provider

    store(tmp_path, x=Stored("oauth", "tok-1"))
    table = {"api": api, "base_url": "https://h/v1", "oauth": {"client_id": "c", "token_url": "https://h/t"}}
    choice = pick(tmp_path, {"model": "x/m", "providers": {"x": table}})
    provider = build_provider(choice.endpoint, SystemClock())
    headers = dict(provider._headers)
    assert choice.renewable
    assert headers["authorization"] == "Bearer tok-1"
    assert not {"x-api-key", "x-goog-api-key"} & set(headers)


def test_without_a_login_a_provider_that_offers_one_says_how(tmp_path: Path) -> None:
    table = {"base_url": "https://h/v1", "oauth": {"client_id": "c", "token_url": "https://h/t"}}
    with pytest.raises(ConfigError, match="run 'wisp login x'"):
        pick(tmp_path, {"model": "x/m", "providers": {"x": table}})


@pytest.fixture
def keys(tmp_path: Path) -> Any:
    config = tmp_path / "config" / "settings.toml"
    config.parent.mkdir()
    config.write_text(
        '[providers.local]\nbase_url="http://h/v1"\napi_key_command=["touch", "/never"]\n'
        '[providers.other]\nbase_url="http://h/v1"\napi_key_env="OTHER_KEY"\n'
    )

    def make(**env: str) -> Keys:
        env = {"WISP_HOME": str(tmp_path), **env}
        return Keys(configure(OpenRequest(), env, SystemClock()), env)

    return make


def test_status_names_every_source_and_shows_no_secret(keys: Any, tmp_path: Path) -> None:
    made = keys(OPENAI_API_KEY=KEY, OTHER_KEY="")
    made.store("anthropic", KEY)
    made.store("openai", KEY + "2")
    made.file.put("gemini", Stored("oauth", KEY, KEY, 1_700_000_000.0))
    made.file.put("gone", Stored("key", KEY))
    rows = {row["provider"]: row for row in made.rows()}
    path = made.file.path
    assert rows["openai"]["source"] == "environment variable OPENAI_API_KEY"
    assert rows["openai"]["hidden"] == path
    assert rows["anthropic"]["source"] == path
    assert (rows["gemini"]["kind"], rows["gemini"]["expires"]) == ("token", "2023-11-14T22:13:20.000Z")
    assert rows["local"]["source"] == "api_key_command 'touch'"
    assert rows["other"]["source"] == ""
    assert "no provider" in rows["gone"]["hidden"]
    assert KEY not in repr(rows)
    assert not Path("/never").exists()


@pytest.mark.parametrize(
    "bad", ["", " \n", "two words", "new\nline", "b\x00d", "schlüssel", "x" * 20_000, "\x1b[31m"]
)
def test_what_cannot_be_a_key_is_not_stored_and_not_repeated(keys: Any, bad: str) -> None:
    with pytest.raises(OpenFailed) as caught:
        keys().store("openai", bad)
    assert "nothing is stored" in str(caught.value)
    assert len(bad.strip()) < 3 or bad.strip() not in str(caught.value)
    assert keys().rows()[0]["source"] != keys().file.path


def test_a_provider_nobody_knows_is_not_repeated_either(keys: Any) -> None:
    with pytest.raises(OpenFailed) as caught:
        keys().store(KEY, "k")
    assert KEY not in str(caught.value)
    assert "known are anthropic" in str(caught.value)


def test_logging_out(keys: Any) -> None:
    made = keys(OPENAI_API_KEY=KEY)
    for name, words in (
        ("", "nothing is stored"),
        ("openai", "environment variable OPENAI_API_KEY"),
        ("x", "no provider"),
    ):
        with pytest.raises(OpenFailed, match=words):
            made.forget(name)
    made.store("openai", KEY)
    assert made.forget("")[0] == "openai"
    made.store("openai", KEY)
    made.store("anthropic", KEY)
    with pytest.raises(OpenFailed, match="say which: anthropic, openai"):
        made.forget("")
    assert made.forget("openai")[0] == "openai"
    assert list(made.file.read()) == ["anthropic"]


KEYRING = """
import json, os, sys
import keyring, keyring.backend
from wisp.host.credentials import CredentialFile
from wisp.host.secrets import MissingKey, StoredLogins, store_in_keyring

class Memory(keyring.backend.KeyringBackend):
    priority = 1
    held = {}
    def get_password(self, service, name): return self.held.get((service, name))
    def set_password(self, service, name, value): self.held[service, name] = value
    def delete_password(self, service, name): del self.held[service, name]

from wisp.host.client import OpenRequest
from wisp.host.configure import configure
from wisp.host.keys import Keys
from wisp.messages.ids import SystemClock
keyring.set_keyring(Memory())
env = {"WISP_HOME": sys.argv[1]}
keys = Keys(configure(OpenRequest(), env, SystemClock()), env)
keys.store("openai", "sk-in-the-ring", in_keyring=True)
assert Memory.held == {("wisp", "openai"): "sk-in-the-ring"}
assert "sk-in" not in open(keys.file.path).read()
assert keys.rows()[0]["source"] == "the system's keyring", keys.rows()
assert StoredLogins(keys.file.path).find("openai").secret == "sk-in-the-ring"
Memory.held.clear()
try:
    StoredLogins(keys.file.path).find("openai")
except MissingKey as exc:
    assert "wisp login openai" in str(exc)
else:
    raise AssertionError
store_in_keyring("openai", "again")
keys.forget("openai")
assert Memory.held == {} and keys.file.read() == {}
print("fine")
"""


def test_the_keyring_holds_the_secret_and_the_file_only_says_so(tmp_path: Path) -> None:
    """With the real library and a keyring in memory, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", KEYRING, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "fine\n", done.stderr


def test_a_machine_without_a_keyring_says_so_and_stores_nothing(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom wisp.launch import main\n"
        "sys.argv = ['wisp', 'login', 'openai', '--keyring']\nsys.exit(main())"
    )
    env = {
        "WISP_HOME": str(tmp_path),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        "PATH": "/usr/bin:/bin",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], input=KEY, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "keyring" in done.stderr
    assert KEY not in done.stderr + done.stdout
    assert not (tmp_path / "state" / "credentials.json").exists()


def test_doctor_says_where_keys_come_from_and_what_is_wrong_on_the_way(keys: Any, tmp_path: Path) -> None:
    from wisp.host.reach import facts

    made = keys()
    made.store("anthropic", KEY)
    env = {
        "WISP_HOME": str(tmp_path),
        "OPENAI_API_KEY": KEY,
        "HTTPS_PROXY": f"http://me:{KEY}@proxy.test:3128",
        "http_proxy": "socks5://x:1",
        "NO_PROXY": ".test",
        "SSL_CERT_FILE": str(tmp_path / "nowhere.pem"),
    }
    (tmp_path / "config" / "settings.toml").write_text(
        '[providers.x]\nbase_url="https://h/v1"\napi_key_env="X_KEY"\nca_bundle="/nowhere.pem"\n'
    )
    configured = configure(OpenRequest(), env, SystemClock())
    found = facts(configured, env)
    details = {f"{name}: {status}": detail for name, status, detail in found}
    assert "credentials.json" in details["provider anthropic: ok"]
    assert "OPENAI_API_KEY" in details["provider openai: ok"]
    assert "no key" in details["provider x: problem"]
    assert ("proxy", "ok", "HTTPS_PROXY: http://proxy.test:3128") in found
    assert ("proxy", "problem", "http_proxy: (not an http address)") in found
    assert details["certificates: problem"].startswith("[providers.x] ca_bundle")
    assert any(name == "certificates" and "SSL_CERT_FILE" in detail for name, _, detail in found)
    assert KEY not in repr(found)

    Path(made.file.path).chmod(0o644)
    assert any("chmod 600" in detail for _, status, detail in facts(configured, env) if status == "problem")
