"""Jobs."""


def a():
    """A."""


def b():
    pass


def c():
    pass
