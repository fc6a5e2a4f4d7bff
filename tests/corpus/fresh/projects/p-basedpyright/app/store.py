from typing import Optional


def find(key: str) -> Optional[str]:
    return {"a": "b"}.get(key)
