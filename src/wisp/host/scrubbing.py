"""`wisp sessions scrub`: known credentials, and shapes of keys, taken out of one stored session."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from wisp.host.client import OpenFailed
from wisp.host.configure import Configured
from wisp.host.secrets import MissingKey, StoredLogins, known_secrets
from wisp.session.catalog import resolve
from wisp.session.lock import Locked
from wisp.session.references import named_in
from wisp.session.scrub import Scrubber
from wisp.session.whole import rewrite
from wisp.session.words import forget


class ScrubReport(msgspec.Struct, frozen=True):
    """What was found in a session, and whether it is gone."""

    path: str
    found: dict[str, int]
    """Kinds to how often."""
    lines: int
    """Records in which something was found."""
    first: int
    """The first line of them, from 1; 0 for none."""
    done: bool
    outputs: int = 0
    """Kept outputs that it names in which something was found; these are deleted."""


def scrub_session(configured: Configured, env: Mapping[str, str], prefix: str, *, do_it: bool) -> ScrubReport:
    """Look for credentials in one session, and with `do_it` replace them; outputs with any are deleted.

    Raises:
        NoSuchSession: none, or several, begin with `prefix`.
        OpenFailed: it is in use.
        OSError: it cannot be read or replaced; it is as it was.
    """
    path = resolve(configured.session_base, prefix)
    scrubber = Scrubber(known_values(configured, env))
    found: Counter[str] = Counter()
    touched: list[int] = []
    number = 0

    def change(line: bytes) -> bytes:
        nonlocal number
        number += 1
        here: Counter[str] = Counter()
        clean = scrubber.line(line, here)
        if here:
            touched.append(number)
            found.update(here)
        return clean

    try:
        rewrite(path, change, keep=True)
        outputs = [one for one in _outputs_of(path, configured.output) if _spoilt(one, scrubber, found)]
        kinds = dict(sorted(found.items()))
        report = ScrubReport(path, kinds, len(touched), min(touched, default=0), do_it, len(outputs))
        for output in outputs if do_it else ():
            os.unlink(output)
        if do_it and touched:
            rewrite(path, change, keep=False)
            forget(configured.session_base, [path])
    except Locked as exc:
        raise OpenFailed(str(exc), 1) from None
    return report


def _outputs_of(path: str, folder: str) -> Iterator[str]:
    """The kept outputs that a session names, as far as they are still there."""
    for name in named_in(path):
        found = os.path.join(folder, name)
        if os.path.isfile(found) and not os.path.islink(found):
            yield found


def _spoilt(path: str, scrubber: Scrubber, found: Counter[str]) -> bool:
    """Whether an output holds a credential; what, is added to `found`."""
    here: Counter[str] = Counter()
    with open(path, "rb") as file:
        while lines := file.readlines(1 << 20):
            scrubber.raw(b"".join(lines), here)
    found.update(here)
    return bool(here)


def known_values(configured: Configured, env: Mapping[str, str]) -> dict[str, str]:
    """Credentials of the environment, of variables that settings name, and of stored logins."""
    named = [table.api_key_env for table in configured.settings.providers.values() if table.api_key_env]
    known = known_secrets(env, {name: env.get(name, "") for name in named})
    logins = StoredLogins(configured.paths.credentials_file)
    try:
        for name in logins.names():
            stored = logins.find(name)
            if stored is not None:
                known |= {f"login.{name}": stored.secret, f"login.{name}.refresh": stored.refresh}
    except MissingKey as exc:
        raise OpenFailed(f"not every stored credential can be looked for: {exc}") from None
    return known
