"""Closes the conversations that a test began."""

import pytest_asyncio
from providers.conversation import close_all


@pytest_asyncio.fixture
async def conversations_are_closed():
    yield
    await close_all()
