import click
from shop.money import Money

print(click, Money("1"))
