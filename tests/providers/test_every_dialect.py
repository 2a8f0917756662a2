"""Every dialect passes every phenomenon, over real HTTP."""

import pytest

from wisp.testing.asking import APIS
from wisp.testing.provider_cases import CASES, run_case


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_dialect_passes(case, api):
    if not case.applies(api):
        pytest.skip("this dialect has no argument text")
    await run_case(case, api)
