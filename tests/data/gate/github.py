"""GitHub's API as far as `gh pr view` and `gh pr create` need it, on a socket: no network takes part.

    github.py SOCKET LOG

LOG gets a line for each pull request that is made: its title, its branch and the first line of its text, as JSON.
"""
import http.server
import json
import os
import socketserver
import sys

REPOSITORY = {
    'id': 'R_1', 'name': 'rows', 'owner': {'id': 'U_1', 'login': 'ada'}, 'description': '', 'hasIssuesEnabled': True,
    'hasWikiEnabled': False, 'viewerPermission': 'ADMIN', 'isPrivate': False, 'parent': None, 'mergeCommitAllowed': True,
    'rebaseMergeAllowed': True, 'squashMergeAllowed': True, 'defaultBranchRef': {'name': 'main'},
}


class Handler(http.server.BaseHTTPRequestHandler):
    def address_string(self):
        return 'socket'

    def log_message(self, *arguments):
        pass

    def answer(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.send_header('X-Oauth-Scopes', 'repo, read:org')
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer({'login': 'ada'})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        query, wanted = asked.get('query', ''), asked.get('variables', {}).get('input', {})
        if 'createPullRequest' in query:
            with open(sys.argv[2], 'a', encoding='utf-8') as log:
                log.write(json.dumps([wanted['title'], wanted['headRefName'], wanted['body'].split('\n')[0]]) + '\n')
            made = {'id': 'PR_1', 'url': 'https://github.com/ada/rows/pull/1'}
            return self.answer({'data': {'createPullRequest': {'pullRequest': made}}})
        requests = {'nodes': [], 'totalCount': 0, 'pageInfo': {'hasNextPage': False, 'endCursor': None}}
        repository = dict(REPOSITORY, pullRequests=requests, pullRequest=None, forks={'nodes': []})
        types = {'fields': [{'name': name} for name in ('isInMergeQueue', 'autoMergeRequest')]}
        viewer = {'login': 'ada', 'id': 'U_1'}
        self.answer({'data': {'repository': repository, 'repo_000': repository, 'viewer': viewer, 'PullRequest': types, 'StatusCheckRollupContextConnection': types}})


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


with Server(sys.argv[1], Handler) as server:
    print('ready', flush=True)
    # It ends with the test that started it.
    while os.getppid() != 1:
        server.timeout = 0.5
        server.handle_request()
