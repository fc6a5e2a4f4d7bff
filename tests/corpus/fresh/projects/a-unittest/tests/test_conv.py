import unittest
from app.conv import c2f


class Conv(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.table = [(0, 32), (100, 212)]

    def test_table(self):
        for c, f in self.table:
            with self.subTest(c=c):
                self.assertAlmostEqual(c2f(c), f)

    def test_type(self):
        with self.assertRaises(TypeError):
            c2f(1)
