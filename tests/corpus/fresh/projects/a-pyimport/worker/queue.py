def push(x):
    return x
