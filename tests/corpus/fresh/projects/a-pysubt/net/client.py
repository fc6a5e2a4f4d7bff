import asyncio


async def fetch(u):
    await asyncio.sleep(0)
    if "bad" in u:
        raise ConnectionResetError("peer reset: " + u)
    return {"url": u, "status": 200, "headers": {"x": "1", "y": "2"}, "body": "a\nb\nc"}


def spin():
    import time
    time.sleep(30)
