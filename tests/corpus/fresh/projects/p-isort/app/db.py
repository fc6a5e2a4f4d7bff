from __future__ import annotations
import typing
from collections import *
a = b = typing
