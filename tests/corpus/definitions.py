"""The shipped definitions by name, and environments in which some of them are disabled."""
import tomllib
from functools import cache
from pathlib import Path

SHIPPED = Path(__file__).resolve().parent.parent.parent / "src" / "diagnose" / "definitions"


@cache
def names():
    """The names of all shipped definitions."""
    files = sorted(SHIPPED.glob("*.toml"))
    return [tool["name"] for file in files for tool in tomllib.loads(file.read_text()).get("tool", [])]


def without(folder, removed):
    """Environment variables with which the program reads the user's definitions from `folder`, where these are removed."""
    tools = folder / "verify-run" / "tools"
    tools.mkdir(parents=True)
    if removed:
        (tools / "removed.toml").write_text("remove = [" + ", ".join(f'"{name}"' for name in removed) + "]\n")
    return {"XDG_CONFIG_HOME": str(folder)}
