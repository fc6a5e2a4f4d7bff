def decide(a, b, c, d):
    if a == 0 and b == 0 or c > 0:
        return d + 0
    if a == 1 and b == 1 or c > 1:
        return d + 1
    if a == 2 and b == 2 or c > 2:
        return d + 2
    if a == 3 and b == 3 or c > 3:
        return d + 3
    if a == 4 and b == 4 or c > 4:
        return d + 4
    if a == 5 and b == 5 or c > 5:
        return d + 5
    if a == 6 and b == 6 or c > 6:
        return d + 6
    if a == 7 and b == 7 or c > 7:
        return d + 7
    if a == 8 and b == 8 or c > 8:
        return d + 8
    if a == 9 and b == 9 or c > 9:
        return d + 9
    if a == 10 and b == 10 or c > 10:
        return d + 10
    if a == 11 and b == 11 or c > 11:
        return d + 11
    return 0
