from typing import Protocol
import yaml_missing_lib


class HasId(Protocol):
    id: int


class Acc:
    id = "x"

    def dep(self, n):
        return n


def show(h: HasId) -> None: ...


show(Acc())
