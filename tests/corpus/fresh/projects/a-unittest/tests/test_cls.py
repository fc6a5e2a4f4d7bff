import unittest


class C(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise FileNotFoundError("fixtures/seed.json")

    def test_a(self):
        pass
