set(A 1)
