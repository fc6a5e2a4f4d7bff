import sys
import os
from typing import List


def run(cmd, a=[]) -> List[int]:
    return os.system(cmd)
