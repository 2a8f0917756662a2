"""The environment of commands: built from a list of names, not the person's with some taken away.

What is not on the list stays out, however it is called: a database address, a vendor's own name for its key,
what would make a shell or a linker run something first (`BASH_ENV`, `LD_PRELOAD`, exported functions).  The
setting `environment` adds names.  Knows nothing of how commands are started.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from wisp.host.secrets import without_secrets

_NAMES = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR",
    "FORCE_COLOR", "CLICOLOR", "COLUMNS", "LINES", "TMPDIR", "TMP", "TEMP", "HOSTNAME", "CI",
    "DEBIAN_FRONTEND", "SSH_AUTH_SOCK", "DISPLAY", "WAYLAND_DISPLAY", "VIRTUAL_ENV", "LD_LIBRARY_PATH",
    "PKG_CONFIG_PATH", "MANPATH", "INFOPATH", "PERL5LIB", "JAVA_HOME", "JDK_HOME", "MAVEN_HOME",
    "MAVEN_OPTS", "M2_HOME", "ANDROID_HOME", "ANDROID_SDK_ROOT", "ANDROID_NDK_HOME", "GOPATH", "GOROOT",
    "GOBIN", "GOPROXY", "GOPRIVATE", "GOFLAGS", "GOCACHE", "GOMODCACHE", "GOTOOLCHAIN", "GOOS", "GOARCH",
    "CGO_ENABLED", "CC", "CXX", "CPP", "AR", "AS", "LD", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS",
    "LDLIBS", "MAKEFLAGS", "MAKEOPTS", "SOURCE_DATE_EPOCH", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy", "TOKENIZERS_PARALLELISM", "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "DJANGO_SETTINGS_MODULE", "FLASK_APP",
})  # fmt: skip
_BEGINNINGS = (
    "LC_", "XDG_", "GIT_AUTHOR_", "GIT_COMMITTER_", "CMAKE_", "CCACHE_", "PYTHON", "PYTEST_", "HYPOTHESIS_",
    "TOX_", "NOX_", "COVERAGE_", "PIP_", "UV_", "PYENV_", "POETRY_", "PDM_", "CONDA_", "NODE_",
    "NPM_CONFIG_", "npm_config_", "NVM_", "PNPM_", "YARN_", "BUN_", "DENO_", "VOLTA_", "FNM_", "CARGO_",
    "RUST", "GRADLE_", "DOTNET_", "RBENV_", "GEM_", "BUNDLE_", "COMPOSER_", "OPAM", "NIX_", "ASDF_",
    "MISE_", "SDKMAN_",
)  # fmt: skip
_ACCOUNT = re.compile(r"://[^/\s@]+@")
"""A user name, and mostly a password, in an address."""


def child_environment(env: Mapping[str, str], secret: Sequence[str], more: Collection[str]) -> dict[str, str]:
    """What commands see of `env`.

    Args:
        env: the process's own environment.
        secret: names of variables that hold keys, whatever they are called.
        more: names to pass on besides those of the list.  One that looks like a credential is passed too:
            who names it wants it.
    """
    wanted = set(more) - set(secret)
    plain = {
        name: value
        for name, value in without_secrets(env, secret).items()
        if (name in _NAMES or name.startswith(_BEGINNINGS)) and not _ACCOUNT.search(value)
    }
    return plain | {name: env[name] for name in env if name in wanted}
