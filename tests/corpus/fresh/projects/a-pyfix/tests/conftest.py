import pytest
from shop.store import Store


@pytest.fixture
def store():
    s = Store("x")
    yield s
    s.close()
