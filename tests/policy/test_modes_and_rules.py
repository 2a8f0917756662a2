"""What each mode says of each effect, and which effects a rule covers."""

import itertools

import msgspec
import pytest

from wisp.messages.tool import Effect, EffectKind
from wisp.policy.decide import Policy, decide
from wisp.policy.modes import MODES, judge
from wisp.policy.rules import BadRule, Rules, parse_rule

ROOT = "/home/u/app"
READ_IN = Effect("read", f"{ROOT}/a")
READ_OUT = Effect("read", "/etc/passwd", inside=False)
WRITE_IN = Effect("write", f"{ROOT}/a")
WRITE_OUT = Effect("write", "/etc/passwd", inside=False)
WRITE_PROTECTED = Effect("write", f"{ROOT}/.git/config", protected="git runs what it says")
RUN = Effect("execute", "make")
RUN_BOXED = Effect("execute", "make", boxed=True)
RUN_UNBOXED = Effect("execute", "make", unboxed="bwrap does not work here")
NET = Effect("network", "example.org")

TABLE = {
    # effect: read-only, plan, ask, auto (no sandbox), full
    READ_IN: ("allow", "allow", "allow", "allow", "allow"),
    READ_OUT: ("ask", "ask", "ask", "ask", "allow"),
    WRITE_IN: ("deny", "deny", "ask", "ask", "allow"),
    WRITE_OUT: ("deny", "deny", "ask", "ask", "allow"),
    WRITE_PROTECTED: ("deny", "deny", "ask", "ask", "allow"),
    RUN: ("deny", "deny", "ask", "ask", "allow"),
    NET: ("deny", "deny", "ask", "ask", "allow"),
}


@pytest.mark.parametrize(("effect", "mode"), list(itertools.product(TABLE, MODES)))
def test_mode_table(effect: Effect, mode: str) -> None:
    assert judge(effect, mode, sandboxed=False).verdict == TABLE[effect][MODES.index(mode)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("effect", "verdict"),
    [
        (READ_IN, "allow"),
        (WRITE_IN, "allow"),
        (RUN_BOXED, "allow"),
        (RUN, "ask"),
        (RUN_UNBOXED, "ask"),
        (WRITE_OUT, "ask"),
        (WRITE_PROTECTED, "ask"),
        (NET, "ask"),
    ],
)
def test_auto_with_a_sandbox_runs_what_stays_inside(effect: Effect, verdict: str) -> None:
    assert judge(effect, "auto", sandboxed=True).verdict == verdict


def verdict(
    effects: list[Effect], *, allow: tuple[str, ...] = (), deny: tuple[str, ...] = (), **more: object
) -> str:
    rules = Rules(tuple(map(parse_rule, allow)), tuple(map(parse_rule, deny)))
    policy = Policy(more.get("mode", "ask"), str(more.get("root", ROOT)), rules)  # type: ignore[arg-type]
    return decide(str(more.get("tool", "edit")), effects, policy).verdict


def test_the_strictest_effect_decides() -> None:
    assert verdict([]) == "allow"
    assert verdict([READ_IN, WRITE_IN]) == "ask"
    assert verdict([READ_IN, WRITE_IN], allow=("edit(a)",)) == "allow"
    assert verdict([WRITE_IN, RUN], allow=("edit(a)",)) == "ask"
    assert verdict([WRITE_IN, RUN], allow=("edit(**)",), deny=("bash(make)",)) == "deny"


@pytest.mark.parametrize("mode", MODES)
def test_deny_wins_over_allow_and_over_every_mode(mode: str) -> None:
    assert verdict([WRITE_IN], allow=("edit(**)", "edit"), deny=("edit(a)",), mode=mode) == "deny"
    assert verdict([READ_IN], deny=("read(a)",), mode=mode, tool="read") == "deny"


@pytest.mark.parametrize("mode", ["ask", "auto"])
def test_a_protected_effect_is_never_satisfied_by_a_rule(mode: str) -> None:
    every = ("edit", "edit(**)", f"edit({ROOT}/.git/config)", "write(**)", "edit(.git/config)")
    assert verdict([WRITE_PROTECTED], allow=every, mode=mode) == "ask"
    policy = Policy(mode, ROOT, granted=tuple(map(parse_rule, every)))  # type: ignore[arg-type]
    decision = decide("edit", [WRITE_IN, WRITE_PROTECTED], policy)
    assert (decision.verdict, decision.fixed) == ("ask", True)


@pytest.mark.parametrize("mode", ["read-only", "plan"])
def test_a_rule_does_not_widen_a_mode_without_effects(mode: str) -> None:
    assert verdict([WRITE_IN], allow=("edit(**)", "edit"), mode=mode) == "deny"


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("src/**", f"{ROOT}/src/a/b.py", True),
        ("src/**", f"{ROOT}/srcs/a", False),
        ("src/**", "/src/a", False),
        ("src/*", f"{ROOT}/src/a", True),
        ("src/*", f"{ROOT}/src/a/b", False),
        ("src/", f"{ROOT}/src/a/b", True),
        ("./src/a", f"{ROOT}/src/a", True),
        ("**/.env", f"{ROOT}/.env", True),
        ("**/.env", f"{ROOT}/x/y/.env", True),
        ("**/.env", "/elsewhere/.env", True),
        ("**/.env", f"{ROOT}/x.env", False),
        ("src/**/t.py", f"{ROOT}/src/t.py", True),
        ("src/**/t.py", f"{ROOT}/src/a/b/t.py", True),
        ("/etc/*", "/etc/passwd", True),
        ("/etc/*", "/etc/ssl/x", False),
        ("/etc/**", "/etc/ssl/x", True),
        ("?.py", f"{ROOT}/a.py", True),
        ("?.py", f"{ROOT}/ab.py", False),
        ("a?b", f"{ROOT}/a/b", False),
        ("[ab].py", f"{ROOT}/b.py", True),
        ("[!ab].py", f"{ROOT}/b.py", False),
        ("[!ab].py", f"{ROOT}/c.py", True),
        ("src[!x]evil", f"{ROOT}/src/evil", False),
        ("[a-c].py", f"{ROOT}/b.py", True),
        ("[^a].py", f"{ROOT}/^.py", True),
        ("[[].py", f"{ROOT}/[.py", True),
        ("[a&&b].py", f"{ROOT}/&.py", True),
        ("[\\].py", f"{ROOT}/\\.py", True),
        ("a.py", f"{ROOT}/aXpy", False),
        ("a.py", f"{ROOT}/a.py\n", False),
        ("(x)|.*", f"{ROOT}/y", False),
        ("[", f"{ROOT}/[", True),
    ],
)
def test_path_patterns(pattern: str, path: str, covered: bool) -> None:
    assert (verdict([Effect("write", path)], allow=(f"edit({pattern})",)) == "allow") is covered
    assert (verdict([Effect("write", path)], deny=(f"edit({pattern})",)) == "deny") is covered


@pytest.mark.parametrize(
    "root", ["/w/a[b]c", "/w/*", "/w/what?", "/w/[!x]", "/w/a]b", "/w/[[", "/w/a\\b", "/"]
)
def test_wildcards_in_the_roots_own_name_are_letters(root: str) -> None:
    inside = root.rstrip("/") + "/src/x"
    assert verdict([Effect("write", inside)], allow=("edit(src/*)",), root=root) == "allow"
    assert verdict([Effect("write", "/w/zzz/src/x")], allow=("edit(src/*)",), root=root) == "ask"


def test_families_cover_the_effect_whatever_tool_has_it() -> None:
    assert verdict([WRITE_IN], allow=("write(a)",), tool="edit") == "allow"
    assert verdict([READ_IN], deny=("read(a)",), tool="grep") == "deny"
    assert verdict([RUN], allow=("bash(make)",), tool="mcp__x__run") == "allow"
    assert verdict([RUN], allow=("edit(**)",), tool="bash") == "ask"


def test_a_bare_name_covers_that_tool_only() -> None:
    assert verdict([WRITE_IN], allow=("edit",), tool="edit") == "allow"
    assert verdict([WRITE_IN], allow=("edit",), tool="write") == "ask"
    assert verdict([RUN], deny=("bash",), tool="bash") == "deny"
    assert verdict([RUN], allow=("*",), tool="bash") == "ask"


def test_a_deny_rule_may_name_tools_by_wildcard() -> None:
    assert verdict([RUN], deny=("*",), tool="bash") == "deny"
    assert verdict([NET], deny=("mcp__files__*",), tool="mcp__files__get") == "deny"
    assert verdict([NET], deny=("mcp__files__*",), tool="mcp__other__get") == "ask"
    assert verdict([READ_IN], deny=("*(**/a)",), tool="read") == "deny"
    assert verdict([RUN], deny=("*(make)",), tool="bash") == "deny"


@pytest.mark.parametrize(
    "text", ["", " ", "bash(", "bash()", "bash( )", "ba sh(x)", "(x)", "edit([z-a])", "x)y("]
)
def test_what_is_no_rule_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadRule, match=r"bash\(git status\)|bad pattern"):
        parse_rule(text)


def test_a_reason_names_the_rule() -> None:
    policy = Policy("ask", ROOT, Rules(deny=(parse_rule("edit(a)"),)))
    assert "deny 'edit(a)'" in decide("edit", [WRITE_IN], policy).reason


OWN = Policy("auto", ROOT, sandboxed=True, own=(f"{ROOT}/h/Config",), shown=(f"{ROOT}/h/config/output",))


@pytest.mark.parametrize("kind", ["read", "write"])
def test_the_agents_own_files_are_a_persons_decision_each_time_wherever_they_lie(kind: EffectKind) -> None:
    """Also in the workspace, in another case, and where a rule allows everything; not what merely begins alike."""
    ruled = msgspec.structs.replace(OWN, rules=Rules(allow=(parse_rule("write"), parse_rule("read"))))
    for path in ("h/Config/settings.toml", "h/CONFIG/x/y", "h/config"):
        decision = decide(kind, [Effect(kind, f"{ROOT}/{path}", True)], OWN)
        assert (decision.verdict, "own settings" in decision.reason) == ("ask", True), path
    for path in ("h/Config2/x", "h/config/output/1", "h/x"):
        assert decide(kind, [Effect(kind, f"{ROOT}/{path}", True)], OWN).verdict == "allow", path
    assert decide("write", [Effect("write", f"{ROOT}/h/Config/a", True)], ruled).verdict == "ask"
