"""Read files."""


def load(p):
    """Load p."""
    return p
