from ward import test
from shop.price import vat


@test("vat is a fifth")
def _():
    assert vat(100)["vat"] == 20


@test("vat returns the rows")
def _():
    assert vat(100) == {"net": 100, "vat": 20.0, "lines": [1, 2, 4]}
