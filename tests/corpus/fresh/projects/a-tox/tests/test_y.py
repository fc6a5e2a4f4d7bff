from y import inc


def test_inc():
    assert inc(2) == 4


def test_zero():
    assert inc(0) == 1
