#!/usr/bin/env python3
"""A model on the loopback for real agents: it calls the tools that it is told to, one after the other, and is done.

    model.py CALLS LOG

CALLS is a JSON list of [tool, input]. The port is printed, and each request is added to LOG as a line of JSON. It speaks
Anthropic's Messages API, as streams of events and as whole answers, and ends when its standard input does.
"""

import http.server
import json
import sys
import threading

CALLS = json.loads(sys.argv[1])
LOG = sys.argv[2]


def answer(asked):
    """The next call, or the end: how many were made is in the conversation."""
    blocks = [block for message in asked["messages"] if isinstance(message["content"], list) for block in message["content"]]
    made = sum(block.get("type") == "tool_use" for block in blocks)
    can_call = any(tool.get("name") == CALLS[0][0] for tool in asked.get("tools", []))
    if can_call and made < len(CALLS):
        name, given = CALLS[made]
        block = {"type": "tool_use", "id": f"toolu_{made}", "name": name, "input": given}
        return block, {"type": "input_json_delta", "partial_json": json.dumps(given)}, "tool_use"
    return {"type": "text", "text": "Done."}, {"type": "text_delta", "text": "Done."}, "end_turn"


def message(asked):
    usage = {"input_tokens": 1, "output_tokens": 1}
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"], "content": [], "usage": usage}
    start |= {"stop_reason": None, "stop_sequence": None}
    block, delta, stop = answer(asked)
    if not asked.get("stream"):
        return "application/json", json.dumps(start | {"content": [block], "stop_reason": stop})
    empty = block | ({"text": ""} if "text" in block else {"input": {}})
    events = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return "text/event-stream", "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.partition("?")[0] != "/v1/messages":
            return self.say(404, "application/json", "{}")
        asked = json.loads(body)
        with open(LOG, "a") as log:
            log.write(json.dumps(asked) + "\n")
        self.say(200, *message(asked))

    def do_GET(self):
        self.say(404, "application/json", "{}")

    do_HEAD = do_GET

    def say(self, status, kind, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
