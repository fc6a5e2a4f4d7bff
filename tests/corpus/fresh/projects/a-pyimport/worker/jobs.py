import json
from worker.queue import push


def run(j):
    try:
        return json.loads(j["body"])
    except KeyError as e:
        raise RuntimeError("job without body") from e
