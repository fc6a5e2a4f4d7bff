def f():
    """Here are some examples
    of a docstring.    """
