"""Speaks with a server by the official SDK for Python and prints what came of it, as one JSON document.

client.py MODE COMMAND [ARGUMENT...], where MODE is legacy, auto, or a version such as 2026-07-28.
"""

import asyncio
import json
import os
import sys

from mcp import StdioServerParameters
from mcp.client.client import Client


def told(result):
    return {
        "error": bool(result.is_error),
        "text": "".join(block.text for block in result.content),
        "structure": result.structured_content,
    }


async def main(mode, command, arguments):
    server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    async with Client(server, mode=mode) as client:
        found = {"version": client.protocol_version, "instructions": client.instructions}
        found["server"] = client.server_info and client.server_info.name
        found["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        calls = [
            ("warnings", {"files": ["shop.py"]}),
            ("recent_failures", {"limit": 1}),
            ("warnings", {"files": 5}),
            ("no_such_tool", {}),
        ]
        found["calls"] = [told(await client.call_tool(name, given)) for name, given in calls]
        resources = (await client.list_resources()).resources
        found["resources"] = [str(resource.uri) for resource in resources]
        found["read"] = (await client.read_resource(resources[-1].uri)).contents[0].text
        templates = (await client.list_resource_templates()).resource_templates
        found["templates"] = [template.uri_template for template in templates]
        try:
            await client.read_resource("verify-run://lessons/l-00000000")
        except Exception as error:
            found["missing"] = error.error.code
        found["prompts"] = [prompt.name for prompt in (await client.list_prompts()).prompts]
        prompt = await client.get_prompt("before-work", {"files": "shop.py"})
        found["prompt"] = prompt.messages[0].content.text
    print(json.dumps(found))


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
