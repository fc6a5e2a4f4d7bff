def names(us):
    if us != None:
        return list([u for u in us])
    return set([1, 2])
