#!/usr/bin/env python3
"""A model on the loopback for real agents: it calls the tools that it is told to, one after the other, and is done.

    model.py CALLS LOG

CALLS is a JSON list of [tool, input]. The port is printed, and each request is added to LOG as a line of JSON. It speaks
Anthropic's Messages API and OpenAI's Responses API, as streams of events, and ends when its standard input does.
"""

import http.server
import json
import sys
import threading

CALLS = json.loads(sys.argv[1])
LOG = sys.argv[2]


def messages(asked):
    """The next call, or the end: how many were made is in the conversation."""
    blocks = [block for said in asked["messages"] if isinstance(said["content"], list) for block in said["content"]]
    made = sum(block.get("type") == "tool_use" for block in blocks)
    # What it asks besides, a title for one, is asked without tools.
    if asked.get("tools") and made < len(CALLS):
        name, given = CALLS[made]
        block = {"type": "tool_use", "id": f"toolu_{made}", "name": name, "input": {}}
        delta, stop = {"type": "input_json_delta", "partial_json": json.dumps(given)}, "tool_use"
    else:
        block = {"type": "text", "text": ""}
        delta, stop = {"type": "text_delta", "text": "Done."}, "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"], "content": [], "usage": usage}
    return [
        {"type": "message_start", "message": start | {"stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]


def responses(asked):
    """The same in OpenAI's words."""
    made = sum(item.get("type") == "function_call" for item in asked["input"])
    if made < len(CALLS):
        name, given = CALLS[made]
        item = {"type": "function_call", "id": f"fc_{made}", "call_id": f"call_{made}", "name": name}
        item["arguments"] = json.dumps(given)
    else:
        item = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "output": [item], "usage": usage}},
    ]


APIS = {"/v1/messages": messages, "/v1/responses": responses}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        api = APIS.get(self.path.partition("?")[0])
        if api is None:
            return self.say(404, "application/json", "{}")
        asked = json.loads(body)
        with open(LOG, "a") as log:
            log.write(json.dumps(asked) + "\n")
        events = api(asked)
        self.say(200, "text/event-stream", "".join(f"event: {it['type']}\ndata: {json.dumps(it)}\n\n" for it in events))

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
