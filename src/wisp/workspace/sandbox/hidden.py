"""Places a command in the box must not see: credentials, histories, sockets of the session.

Looks at what exists now; opens nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence

_IN_HOME = (
    ".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".oci", ".netrc", "_netrc", ".pgpass",
    ".my.cnf", ".git-credentials", ".pypirc", ".npmrc", ".vault-token", ".s3cfg", ".boto", ".dockercfg",
    ".password-store", ".databrickscfg", ".snowflake", ".terraform.d/credentials.tfrc.json",
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml",
    ".m2/settings-security.xml", ".config/gh", ".config/hub", ".config/gcloud",
    ".config/git/credentials", ".config/rclone", ".config/op", ".config/sops", ".config/doctl",
    ".config/containers/auth.json", ".config/pip/pip.conf", ".pip/pip.conf", ".config/age",
    ".config/helm", ".local/share/keyrings", ".local/share/kwalletd",
    ".local/share/containers/auth.json", ".mozilla", ".thunderbird", ".config/google-chrome",
    ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge", ".bash_history",
    ".zsh_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history",
    ".sqlite_history", ".local/share/fish/fish_history", ".lesshst", ".viminfo", ".claude",
    ".claude.json", ".codex", ".gemini", ".config/opencode", ".local/share/opencode",
    ".config/github-copilot", ".aider.conf.yml", ".Xauthority", ".ICEauthority",
)  # fmt: skip
_IN_SYSTEM = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
    "/etc/ssl/private", "/etc/krb5.keytab", "/etc/kubernetes", "/etc/docker",
    "/etc/NetworkManager/system-connections", "/etc/wireguard", "/etc/openvpn", "/var/lib/docker",
    "/var/lib/containerd", "/var/lib/kubelet", "/var/lib/NetworkManager", "/var/spool/cron",
    "/proc/keys", "/proc/key-users",
)  # fmt: skip
_HOST_KEYS = "/etc/ssh"
_RUN_NEEDED = ("/run/current-system", "/run/wrappers", "/run/opengl-driver", "/run/booted-system")
_RUN_NAMES = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf")


def credential_places(home: str) -> Iterator[str]:
    """Every existing place of the lists, as it is really called."""
    homes = [home]
    if os.geteuid() == 0:
        homes += ["/root", *_other_homes()]
    for top in dict.fromkeys(homes):
        for name in _listed(top):
            yield from _there(os.path.join(top, name))
    for place in _IN_SYSTEM:
        yield from _there(place)
    if os.geteuid() == 0:
        yield from _host_keys()


def run_places(network: bool) -> Iterator[str]:
    """What stays of `/run`: parts of the system itself and, with a network, how names are looked up."""
    for place in (*_RUN_NEEDED, *(_RUN_NAMES if network else ())):
        if os.path.exists(place):
            yield place


def sockets(covered: Sequence[str], bare: Sequence[str]) -> Iterator[str]:
    """Existing Unix sockets with a path on this system, but for those beneath `covered` folders.

    Those beneath `bare` folders count even so: they show again within a covered one.
    """

    def unseen(path: str) -> bool:
        return _beneath(path, covered) and not _beneath(path, bare)

    try:
        with open("/proc/net/unix", "rb") as file:
            rows = file.read().split(b"\n")
    except OSError:
        return
    seen = set()
    for row in rows:
        at = row.find(b" /")
        if at < 0:
            continue
        path = os.fsdecode(row[at + 1 :])
        if path in seen or unseen(path):
            continue
        seen.add(path)
        try:
            real = os.path.realpath(path)
            if stat.S_ISSOCK(os.lstat(real).st_mode) and not unseen(real):
                yield real
        except (OSError, ValueError):
            continue


def _beneath(path: str, tops: Sequence[str]) -> bool:
    return any(path.startswith(top.rstrip("/") + "/") for top in tops)


def _listed(home: str) -> Sequence[str]:
    """Those of `_IN_HOME` that may be there; a folder that can be entered and not listed may have all."""
    try:
        names = set(os.listdir(home))
    except PermissionError:
        return _IN_HOME
    except OSError:
        return ()
    return [name for name in _IN_HOME if name.partition("/")[0] in names]


def _there(path: str) -> Iterator[str]:
    """`path` as it is really called, if it is there and this user could read it or look into it."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return
    wanted = os.R_OK, *((os.X_OK,) if stat.S_ISDIR(mode) else ())
    if not any(os.access(path, right, effective_ids=True) for right in wanted):
        return
    yield os.path.realpath(path) if stat.S_ISLNK(mode) else path


def _other_homes() -> list[str]:
    try:
        return [os.path.join("/home", name) for name in sorted(os.listdir("/home"))[:64]]
    except OSError:
        return []


def _host_keys() -> Iterator[str]:
    try:
        names = os.listdir(_HOST_KEYS)
    except OSError:
        return
    for name in names:
        if name.endswith("_key"):
            yield os.path.join(_HOST_KEYS, name)
