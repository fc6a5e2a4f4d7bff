"""Clean."""


def rm(path):
    """Remove."""
    assert False, "x"
    data = path.strip("abca")
