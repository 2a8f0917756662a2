"""A newer catalogue, fetched because somebody asked: from a real server, real in shape, hostile where it can be."""

import json
import os
import stat
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import pytest

from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.configure import configure
from wisp.host.models import choose, model_info, services
from wisp.host.refresh import checked, converted, fetched, refresh
from wisp.host.settings import Layer, merge
from wisp.messages.ids import FixedClock
from wisp.messages.usage import Price, Tier, Usage, cost_of
from wisp.providers.address import parse_url
from wisp.providers.catalog import Catalog, catalog, find, note
from wisp.providers.errors import ProviderError
from wisp.providers.http import HttpTransport
from wisp.providers.modelsdev import price_of, vendor_models

LATER = 1_900_000_000.0  # 2030-03-17
EARLIER = 1_500_000_000.0  # 2017-07-14


def entry(**changes: Any) -> dict[str, Any]:
    """One model as models.dev publishes it."""
    return {
        "id": "x",
        "name": "X",
        "attachment": True,
        "reasoning": True,
        "tool_call": True,
        "temperature": False,
        "knowledge": "2029-10",
        "release_date": "2030-01-01",
        "last_updated": "2030-01-01",
        "modalities": {"input": ["text", "image"], "output": ["text"]},
        "open_weights": False,
        "limit": {"context": 400_000, "output": 128_000},
        "cost": {"input": 1.25, "output": 10, "cache_read": 0.125},
        **changes,
    }


def published(**openai: Any) -> bytes:
    """A whole answer in which OpenAI has these models."""
    models = {name.replace("__", "."): dict(value, id=name) for name, value in openai.items()}
    return json.dumps(
        {
            "openai": {"id": "openai", "env": ["OPENAI_API_KEY"], "name": "OpenAI", "models": models},
            "google": {"id": "google", "models": {"gemini-9": entry()}},
            "unheard-of": {"id": "unheard-of", "models": {"m": entry()}},
        }
    ).encode()


class Source:
    """A web server that answers one thing; what it was asked is in `asked`."""

    def __init__(self) -> None:
        self.status, self.body, self.headers = 200, published(gpt_new=entry()), {}
        self.length: int | None = None
        self.asked: list[str] = []

    def __enter__(self) -> "Source":
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                owner.asked.append(self.path)
                self.send_response(owner.status)
                for name, value in owner.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(owner.length or len(owner.body)))
                self.end_headers()
                self.wfile.write(owner.body)
                self.close_connection = owner.length is not None

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/api.json"
        return self

    def __exit__(self, *args: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def source():
    with Source() as running:
        yield running


@pytest.fixture
def configured(tmp_path):
    env = {"WISP_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    return configure(OpenRequest(cwd=str(tmp_path)), env, FixedClock(LATER))


def done(configured, url, now=LATER):
    return refresh(configured, {}, FixedClock(now), url)


def test_what_was_fetched_is_known_from_then_on_and_says_when_and_whence(configured, source):
    path = configured.paths.catalogue_file
    assert find("openai", "gpt_new", path) is None
    said = done(configured, source.url)
    assert source.asked == ["/api.json"]
    assert path in said
    assert "2030-03-17" in said
    found = find("openai", "gpt_new", path)
    assert (found.context_window, found.max_output, found.images, found.reasoning) == (
        400_000,
        128_000,
        True,
        True,
    )
    assert found.price == Price(1.25, 10.0, 0.125)
    assert catalog(path).as_of == "2030-03-17"
    assert source.url in catalog(path).source
    assert find("gemini", "gemini-9", path) is not None
    assert find("unheard-of", "m", path) is None
    assert find("openai", "gpt_new") is None, "the bundled catalogue is what it was"


def test_the_file_is_private_and_nothing_is_left_beside_it(configured, source):
    done(configured, source.url)
    done(configured, source.url)
    path = configured.paths.catalogue_file
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert [name for name in os.listdir(os.path.dirname(path)) if "catalog" in name] == ["catalog.json"]


def test_levels_and_switches_of_known_models_are_kept_and_what_is_no_longer_listed_too(configured, source):
    known = next(info for info in catalog().models["openai"] if info.efforts)
    other = next(info for info in catalog().models["openai"] if info.id != known.id)
    source.body = published(
        **{known.id.replace(".", "__"): entry(limit={"context": 777_000, "output": 1_000})}
    )
    done(configured, source.url)
    found = find("openai", known.id, configured.paths.catalogue_file)
    assert found.context_window == 777_000
    assert (found.efforts, found.compat) == (known.efforts, known.compat)
    assert find("openai", other.id, configured.paths.catalogue_file) == other


def test_settings_win_over_what_was_fetched(configured, source):
    done(configured, source.url)
    tables = {
        "openai": {"models": {"gpt_new": {"context_window": 5, "input_price": 7.0, "output_price": 8.0}}}
    }
    settings = merge([Layer("test", {"providers": tables, "model": "openai/gpt_new"})]).settings
    path = configured.paths.catalogue_file
    info = model_info(services(settings, {})["openai"], "gpt_new", path)
    assert (info.context_window, info.max_output) == (5, 128_000)
    assert (info.price.input, info.price.output) == (7.0, 8.0)
    choice = choose(settings, {"OPENAI_API_KEY": "k"}, lambda argv: "", dead_after=None, catalogue=path)
    assert choice.model == info


def test_a_model_that_only_the_fetched_catalogue_knows_can_be_named_without_its_vendor(configured, source):
    done(configured, source.url)
    settings = merge([Layer("test", {"model": "gemini-9"})]).settings
    path = configured.paths.catalogue_file
    choice = choose(settings, {"GEMINI_API_KEY": "k"}, lambda argv: "", dead_after=None, catalogue=path)
    assert (choice.endpoint.name, choice.model.context_window) == ("gemini", 400_000)


@pytest.mark.parametrize(
    "cost",
    [
        {},
        None,
        {"input": 0, "output": 0},
        {"input": 1.0},
        {"input": "1", "output": "2"},
        {"input": -1, "output": 2},
        {"input": True, "output": True},
        {"input": 1, "output": 2, "reasoning": 9},
        {"input": 1, "output": 2, "tiers": [{"input": 2, "output": 3, "tier": {"type": "hour", "size": 3}}]},
        {"input": 1, "output": 2, "tiers": "many"},
        {"input": 1, "output": 2, "context_over_much": {"input": 1, "output": 2}},
        {"input": 1, "output": 2, "context_over_200k": {"input": 1}},
    ],
)
def test_a_price_that_is_not_told_or_cannot_be_said_is_unknown_and_never_nothing(configured, source, cost):
    source.body = published(gpt_new=entry(cost=cost))
    done(configured, source.url)
    found = find("openai", "gpt_new", configured.paths.catalogue_file)
    assert found.price == Price()
    assert cost_of(Usage(10, 10), found.price) is None


def test_a_price_that_depends_on_the_hour_stays_unknown(configured, source):
    vendor, models = next(iter(catalog().by_hour.items()))
    document = {vendor: {"models": {name: entry() for name in models}}}
    source.body = json.dumps(document).encode()
    done(configured, source.url)
    for model in models:
        assert find(vendor, model, configured.paths.catalogue_file).price == Price()


def test_the_exact_length_of_a_tier_wins_over_the_rounded_one():
    long = {"input": 2, "output": 4}
    cost = {"input": 1, "output": 2, "context_over_200k": long}
    assert price_of(cost)["tiers"] == [{"above": 200_000, "price": {"input": 2.0, "output": 4.0}}]
    exact = {**cost, "tiers": [{**long, "tier": {"type": "context", "size": 272_000}}]}
    price = msgspec.convert(price_of(exact), Price)
    assert price == Price(1.0, 2.0, tiers=(Tier(272_000, Price(2.0, 4.0)),))
    assert cost_of(Usage(1_000_000, 0), price) == pytest.approx(2.0)
    assert price_of({"input": 0, "output": 0}, free=True) == {"input": 0.0, "output": 0.0}


@pytest.mark.parametrize(
    "changes",
    [
        {"tool_call": False},
        {"status": "deprecated"},
        {"modalities": {"input": ["text"], "output": ["image"]}},
        {"modalities": None},
        {"limit": {"context": 0, "output": 0}},
        {"limit": {"context": 10, "output": 20}},
        {"limit": {"context": "many", "output": 1}},
        {"limit": {"context": 1e300, "output": 1}},
    ],
)
def test_what_cannot_hold_a_conversation_or_makes_no_sense_is_not_listed(changes):
    assert vendor_models("openai", {"good": entry(), "bad": entry(**changes)}, {})[0]["id"] == "good"
    assert len(vendor_models("openai", {"good": entry(), "bad": entry(**changes)}, {})) == 1


@pytest.mark.parametrize(
    "listed", [None, [], "x", {"a": None, "b\n": entry(), "": entry(), "c" * 300: entry()}]
)
def test_a_list_that_is_none_gives_no_models(listed):
    assert vendor_models("openai", listed, {}) == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"openai":{"models":{}}}',
        b'{"openai":3}',
        b"null",
    ],
)
def test_garbage_is_refused_and_what_was_there_stays(configured, source, body):
    done(configured, source.url)
    source.body = body
    with pytest.raises(OpenFailed, match="list"):
        done(configured, source.url)
    assert find("openai", "gpt_new", configured.paths.catalogue_file) is not None


@pytest.mark.parametrize("status", [204, 301, 302, 307, 308, 403, 404, 500])
def test_any_answer_but_the_plain_one_is_refused_and_a_redirect_is_not_followed(configured, source, status):
    source.status, source.headers = status, {"location": source.url + "/elsewhere"}
    source.body = b"" if status == 204 else source.body
    with pytest.raises(OpenFailed) as caught:
        done(configured, source.url)
    assert source.asked == ["/api.json"]
    assert "--from" in str(caught.value) if 300 <= status < 400 else str(status) in str(caught.value)
    assert not os.path.exists(configured.paths.catalogue_file)


async def test_an_answer_beyond_the_limit_is_cut_off(source):
    source.body = b"x" * 200_000
    transport = HttpTransport()
    assert len(await fetched(parse_url(source.url), transport, 200_000)) == 200_000
    with pytest.raises(OpenFailed, match="199,999"):
        await fetched(parse_url(source.url), transport, 199_999)
    await transport.aclose()


def test_an_answer_that_breaks_off_or_a_server_that_is_not_there_changes_nothing(configured, source):
    source.length = len(source.body) + 5
    with pytest.raises(OpenFailed, match="not refreshed"):
        done(configured, source.url)
    with pytest.raises(OpenFailed, match="nothing listens"):
        done(configured, "http://127.0.0.1:9/api.json")
    assert not os.path.exists(configured.paths.catalogue_file)


@pytest.mark.parametrize(
    "address", ["http://models.dev/api.json", "ftp://models.dev", "file:///etc/passwd", "x", ""]
)
def test_only_https_or_this_machine_is_asked(address):
    with pytest.raises(OpenFailed) as caught:
        checked(address)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"as_of":"2099-01-01"}',
        b"\xff",
        b'{"as_of":"2099-01-01","source":"","checked":"","models":3}',
    ],
)
def test_a_broken_file_is_ignored_with_one_note(configured, content):
    path = configured.paths.catalogue_file
    os.makedirs(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(content)
    assert note(path) == "", "nobody has looked yet"
    assert find("openai", "gpt-5.6", path) == find("openai", "gpt-5.6")
    assert catalog(path) == catalog()
    assert path in note(path)
    assert "wisp models --refresh" in note(path)


def test_a_release_that_is_newer_than_what_was_fetched_wins(configured, source):
    said = done(configured, source.url, now=EARLIER)
    assert "newer" in said
    assert find("openai", "gpt_new", configured.paths.catalogue_file) is None
    assert catalog(configured.paths.catalogue_file) == catalog()
    assert note(configured.paths.catalogue_file) == ""


def test_converting_what_the_bundled_catalogue_was_made_of_changes_no_window_and_no_level():
    """The other way round: the bundled entries, published in their shape, give themselves."""
    document = {
        "openai": {
            "models": {
                info.id: entry(
                    reasoning=info.reasoning,
                    modalities={"input": ["text", *(["image"] if info.images else [])], "output": ["text"]},
                    limit={"context": info.context_window, "output": info.max_output},
                    cost={
                        key: value
                        for key, value in msgspec.to_builtins(info.price).items()
                        if key != "tiers" and value is not None
                    }
                    | {
                        "tiers": [
                            {
                                **msgspec.to_builtins(tier.price),
                                "tier": {"type": "context", "size": tier.above},
                            }
                            for tier in info.price.tiers
                        ]
                    },
                )
                for info in catalog().models["openai"]
            }
        }
    }
    made = converted(document, catalog(), "2030-01-01", "here")
    assert isinstance(made, Catalog)
    assert made.models["openai"] == catalog().models["openai"]


def test_a_service_that_cannot_be_reached_is_a_plain_sentence(configured):
    try:
        done(configured, "https://nowhere.invalid/api.json")
    except OpenFailed as exc:
        assert "not refreshed" in str(exc)
    except ProviderError:
        pytest.fail("an error of the network reached the person")
