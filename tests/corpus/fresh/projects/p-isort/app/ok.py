import os

print(os)
