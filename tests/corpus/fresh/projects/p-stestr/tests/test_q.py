import unittest
from pkg.q import Queue


class QTest(unittest.TestCase):
    def test_empty(self):
        self.assertEqual(Queue().xs, [])

    def test_pop(self):
        self.assertIsNone(Queue().pop())

    def test_names(self):
        self.assertEqual({"a": 1, "b": [1, 2]}, {"a": 1, "b": [1, 3]})
