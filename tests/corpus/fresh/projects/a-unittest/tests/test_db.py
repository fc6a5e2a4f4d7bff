import unittest
import psycopg9


class Db(unittest.TestCase):
    def test_x(self):
        pass
