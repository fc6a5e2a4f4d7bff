def render():
    return {}["name"]
