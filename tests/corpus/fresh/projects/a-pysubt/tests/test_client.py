from net.client import fetch, spin


async def test_fetch():
    assert await fetch("u") == {"url": "u", "status": 201, "headers": {"x": "1", "y": "3"}, "body": "a\nB\nc"}


async def test_bad():
    await fetch("bad")


def test_spin():
    spin()
