import os
x = {  "a":1 }
