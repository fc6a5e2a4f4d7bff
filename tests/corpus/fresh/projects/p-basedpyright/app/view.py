from app.store import find


def show(n: int) -> str:
    return find("a").upper() + n
