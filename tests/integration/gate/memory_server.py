"""A memory server by the official SDK, with the tools of claude-self-reflect.

memory_server.py LOG TOOL...: offers these tools, and writes each call into the file LOG, one JSON document a line.
"""
import json
import sys

from mcp.server import MCPServer

log, tools = sys.argv[1], sys.argv[2:]
server = MCPServer('memory')


def note(tool, **arguments):
    with open(log, 'a') as file:
        file.write(json.dumps({'tool': tool, 'arguments': arguments}) + '\n')


def csr_reflect_on_past(query: str, limit: int = 5) -> list[str]:
    """Searches all conversations."""
    note('csr_reflect_on_past', query=query, limit=limit)
    return ['The page size was off by one', 'The cache was never cleared']


def csr_search_by_concept(concept: str, limit: int = 5) -> str:
    """Searches for a concept."""
    note('csr_search_by_concept', concept=concept, limit=limit)
    return '<search><count>3</count><r rank="1">Use fixtures</r></search>'


def csr_search_narratives(query: str, limit: int = 3) -> str:
    """Searches narratives."""
    note('csr_search_narratives', query=query, limit=limit)
    return '1. Pages are numbered from one'


def csr_search_insights(query: str, limit: int = 3) -> str:
    """Searches insights."""
    note('csr_search_insights', query=query, limit=limit)
    return '- Pages are numbered from one\n- Sizes are bytes'


def csr_search_by_file(file_path: str, limit: int = 3) -> str:
    """Searches for a file."""
    note('csr_search_by_file', file_path=file_path, limit=limit)
    return 'check.sh was rewritten twice' if file_path == 'check.sh' else 'No results found'


for name in tools:
    server.tool()(globals()[name])
server.run('stdio')
