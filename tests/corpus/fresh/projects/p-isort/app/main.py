import sys
import os
from app.db import b, a
import json

print(sys, os, a, b, json)
