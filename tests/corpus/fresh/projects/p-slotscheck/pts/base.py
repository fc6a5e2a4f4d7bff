class Base:
    pass


class P(Base):
    __slots__ = ("x", "y")


class Q(P):
    __slots__ = ("x",)
