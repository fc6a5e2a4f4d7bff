def g():
    l = 1
    return undefined
