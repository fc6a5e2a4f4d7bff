def show(a):
    """
    Example:
        >>> from vec.fmt import show
        >>> show([1])
        <1>
    """
    return "(" + ",".join(map(str, a)) + ")"
