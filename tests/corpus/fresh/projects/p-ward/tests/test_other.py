from ward import test, fixture


@fixture
def db():
    raise ConnectionError("no db at localhost:5432")


@test("reads")
def _(db=db):
    assert db

@test("adds")
def _():
    assert 1 + 1 == 2
