"""What the tests of this room share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder any user may work in."""
    path = Path(os.path.realpath(tempfile.mkdtemp(prefix="wisp-test-")))
    path.chmod(0o777)
    yield path
    shutil.rmtree(path, ignore_errors=True)
