import flaskk
from lib.util import add, sub

x: str = add(1, 2)
