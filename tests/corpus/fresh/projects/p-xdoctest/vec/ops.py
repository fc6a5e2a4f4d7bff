"""Vector ops."""


def add(a, b):
    """
    Example:
        >>> add([1, 2], [3, 4])
        [4, 6]
    """
    return [x + y for x, y in zip(a, b)]


def scale(a, k):
    """
    Example:
        >>> scale([1, 2], 3)
        [3, 6]
        >>> scale([1], "x")
        [1]
    """
    return [x * k for x in a]
