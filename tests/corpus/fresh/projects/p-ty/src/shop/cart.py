from shop.money import Money


def total(xs: list[Money]) -> Money:
    return sum(x.cents for x in xs)


def first(xs: list[Money]) -> str:
    return xs[0].currency.uper()
