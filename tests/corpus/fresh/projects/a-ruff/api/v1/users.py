def f():
    try:
        return 1
    except:
        pass
    assert x
