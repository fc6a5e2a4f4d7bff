def f(x):
    assert x == 1, f"oops"
    if isinstance(x, int) or isinstance(x, str):
        return f"plain"
