def rows(p: str) -> list[int]:
    return [r for r in open(p)]
