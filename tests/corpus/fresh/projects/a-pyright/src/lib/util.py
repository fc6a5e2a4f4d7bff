def add(a: int, b: int) -> int:
    return a + b


class A:
    def m(self, x: int) -> int: ...


class B(A):
    def m(self, x: str) -> int:
        return 1
