import pytest


def test_get(store):
    assert store.get("a") == 1


def test_url(store):
    assert store.url == "x"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_n(n):
    assert n != 2, f"n is {n}"
