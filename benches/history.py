"""A seeded history of a team in the real event format, for `benches/scale`.

Every event is one that the program itself wrote about a small project, with other content: runs that failed and passed,
work trees, attempts, merges. Keys come from the program (`pattern explain --jsonl`). What is drawn:

- A failure has 4 patterns that are new and one that was there already (the older ones more often).
- Half of the messages name something (`Property 'x' does not exist on type 'Y'`): few families with thousands of patterns.
  The others say it in words of their own. Three tools.
- Episodes: a failure, in 3 of 10 cases a second one with an attempt that didn't help, in 9 of 10 the pass that ends it and
  the attempt; one of 10 stays open. A pass of another check goes with it. Ten failures are one task, on a branch of its own.
- Up to 20 writers (clones and CI jobs), a segment a month each, up to now: 3 months for 10^3 patterns, 24 for 10^6.
- One in 200 failures is followed by a merge of two patterns.
"""
import bisect
import copy
import datetime
import json
import os
import random

ITEMS = 4
TASK_FAILURES = 10
CHUNK = 40_000
KNOWN_MAX = 20_000
TOOLS = ('eslint', 'tsc', 'pytest')
EPOCH = datetime.datetime(1970, 1, 1)

SYLLABLES = ('ba be bi bo da de di do fa fe fi fo ga ge go ka ke ki ko la le li lo ma me mi mo na ne ni no pa pe pi po ra re '
             'ri ro sa se si so ta te ti to va ve vi vo za ze zo').split()
VERBS = 'cannot use|do not call|missing|unexpected|prefer|avoid|expected|invalid|unknown|unused'.split('|')
TAILS = 'here|in this scope|before its declaration|in a loop|at the top level|without a default|in strict mode|twice'.split('|')


class Words:
    """messages that are drawn again from the same seed"""
    def __init__(self, seed):
        self.random = random.Random(seed)
        nouns = random.Random(1)
        self.nouns = [''.join(nouns.choices(SYLLABLES, k=3)) for _ in range(3_000)]
        # A few folders and files have most of the failures.
        self.weights = [0.0]
        for place in range(1, 401):
            self.weights.append(self.weights[-1] + 1 / place)

    def name(self):
        a, b = self.random.choices(self.nouns, k=2)
        return a + b.capitalize()

    def skewed(self):
        """from 0 to 399, the small ones more often"""
        return bisect.bisect(self.weights, self.random.random() * self.weights[-1]) - 1

    def finding(self, tool=None):
        """tool, code and message"""
        draw = self.random.choice
        tool = tool or draw(TOOLS)
        if self.random.random() < 0.5:
            message = f"{draw(VERBS)} {draw(self.nouns)} {draw(self.nouns)} '{self.name()}' {draw(TAILS)}"
            return tool, f'rule-{sum(map(ord, message.split(" ")[1])) % 200}', message
        if tool == 'eslint':
            return tool, 'no-undef', f"'{self.name()}{self.random.randrange(100)}' is not defined"
        if tool == 'tsc':
            return tool, 'TS2339', f"Property '{self.name()}' does not exist on type '{draw(self.nouns).capitalize()}'."
        return tool, 'AttributeError', f"AttributeError: '{draw(self.nouns).capitalize()}' object has no attribute '{self.name()}'"

    def file(self):
        return f'src/{self.nouns[self.skewed() % 40]}/{self.nouns[self.skewed()]}.js'


def uuid(value, version):
    value = value & ~(0xf << 76) & ~(3 << 62) | version << 76 | 2 << 62
    text = f'{value:032x}'
    return '-'.join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def stamp(when):
    return when.isoformat(timespec='microseconds') + 'Z'


class History:
    """`templates` are events by name: failed, passed, snapshot, passing_snapshot, failure, success; `keys` asks the program
    for the keys of messages; `own` is the writer, root and commit of the store itself, which has a fifth of all."""

    def __init__(self, size, templates, keys, own):
        self.size, self.templates, self.keys, self.own = size, templates, keys, own
        self.words = Words(size)
        self.random = random.Random(size)
        self.months = 3 if size <= 1_000 else 12 if size <= 100_000 else 24
        self.writers = 3 if size <= 1_000 else 10 if size <= 100_000 else 20
        self.known, self.failures, self.events, self.lessons, self.raw = [], 0, 0, [], []
        self.merged = []

    def id(self, when):
        millis = int((when - EPOCH).total_seconds() * 1000)
        return uuid(millis << 80 | self.random.getrandbits(80), 7)

    def derived(self):
        return uuid(self.random.getrandbits(128), 8)

    def write(self, folder):
        """the segments"""
        episodes = self.size // ITEMS
        end = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) - datetime.timedelta(hours=1)
        start = end - datetime.timedelta(days=30 * self.months)
        step = (end - start) / episodes
        files, at = {}, 0
        for first in range(0, self.size, CHUNK):
            found = [self.words.finding() for _ in range(min(CHUNK, self.size - first))]
            found = [(*finding, key) for finding, key in zip(found, self.keys(found))]
            for part in range(0, len(found), ITEMS):
                when = start + step * at
                at += 1
                number = self.random.randrange(5 * (self.writers - 1)) if self.writers > 1 else 0
                writer = 0 if number % 5 == 0 else 1 + number // 5
                name = self.own['writer'] if writer == 0 else f'wdev{writer:05}'
                month = when.strftime('%Y-%m')
                out = files.get(name)
                if out is None or out[0] != month:
                    if out:
                        out[1].close()
                    out = files[name] = (month, open(os.path.join(folder, f'{name}-{month}.jsonl'), 'a'))
                self.episode(out[1], when, writer, name, found[part:part + ITEMS], end)
        for _, file in files.values():
            file.close()

    def episode(self, out, when, writer, name, new, end):
        own = writer == 0
        root = self.own['root'] if own else f'/home/dev{writer}/project'
        task = f'task-{writer}-{self.failures // (TASK_FAILURES * self.writers)}'
        branch, commit = (self.own['branch'], self.own['commit']) if own else (task, f'{self.random.getrandbits(160):040x}')
        tool = new[0][0]
        # One check in five is that of the measured runs.
        selector = 'src' if tool == 'eslint' and self.random.random() < 0.6 else f'src/part{self.random.randrange(40)}'
        known = self.known[int(len(self.known) * self.random.random() ** 3)] if self.known else None
        found = new + ([known] if known else [])
        common = dict(writer=name)
        place = dict(root=root, branch=branch, commit=commit, task=task, tool=tool, session=f'agent-{task}')
        scope = dict(self.templates['failed']['scope'])
        if tool != 'eslint':
            scope.update(subject=tool)
            scope['class'] = f'{TOOLS.index(tool):032x}'
        scope['selectors'] = [selector]
        key = self.templates['failed']['key'] if (tool, selector) == ('eslint', 'src') else f'{hash_of(tool + selector):032x}'
        place.update(scope=scope, key=key, argv=[tool, selector])
        runs = []

        def run(template, after, **more):
            at = when + datetime.timedelta(seconds=after)
            event = dict(self.templates[template], **common, **place, id=self.id(at), at=stamp(at), started_at=stamp(at),
                         ended_at=stamp(at), **more)
            self.emit(out, event)
            runs.append((event['id'], event['at']))
            return event['id']

        def snapshot(template, run_id, after):
            at = stamp(when + datetime.timedelta(seconds=after))
            event = dict(self.templates[template], **common, id=self.derived(), at=at, run=run_id,
                         tree=f'{self.random.getrandbits(160):040x}')
            event['files'] = [dict(file, path=self.words.file()) for file in event['files']]
            self.emit(out, event)

        def attempt(template, run_id, after, gone, left):
            at = stamp(when + datetime.timedelta(seconds=after))
            event = dict(self.templates[template], **common, id=self.derived(), at=at, key=key, run=run_id, opened_by=runs[0][0],
                         before=runs[-2][0], root=root, task=task, ended_at=at)
            event['files'] = [dict(file, path=self.words.file()) for file in event['files']]
            for role, atoms in (('fixed', gone), ('persisted', left)):
                event.pop(role, None)
                if atoms:
                    event[role] = dict(count=len(atoms), first=[
                        dict(hash=f'{hash_of(m):016x}'[:16], pattern=k['pattern'], file='src/a.js', text=m) for _, _, m, k in atoms])
            self.emit(out, event)

        failed = run('failed', 0, failure=self.failure(found, when, own))
        snapshot('snapshot', failed, 1)
        if own and (end - when).days < 30:
            self.raw.append(failed)
        if self.random.random() < 0.3:
            again = run('failed', 300, failure=self.failure(found[1:], when, False))
            snapshot('snapshot', again, 301)
            attempt('failure', again, 302, found[:1], found[1:])
            found = found[1:]
        if self.random.random() < 0.9:
            passed = run('passed', 900)
            snapshot('passing_snapshot', passed, 901)
            attempt('success', passed, 902, found, [])
        place.update(key=f'{hash_of("tests" + selector):032x}', argv=['npm', 'test', selector], scope=dict(scope, **{'class': 'f' * 32}))
        run('passed', 1000)
        if self.failures % 200 == 199:
            a, b = found[0][3]['pattern'], found[1][3]['pattern']
            self.emit(out, dict(v=1, **common, kind='merge', id=self.derived(), at=stamp(when), **{'from': a, 'into': b},
                                by='near-duplicate', similarity_permille=910))
            self.merged += [a, b]

    def failure(self, found, when, own):
        self.failures += 1
        files = [self.words.file() for _ in found]
        items = [dict(tool=tool, code=code, severity='error', file=file, line=1, col=1, message=message, count=1,
                      exact=key['pattern'], pattern=key['pattern'], family=key['family'], masked=key['masked'],
                      masked_family=key['masked_family']) for (tool, code, message, key), file in zip(found, files)]
        lesson = f'l-{self.random.getrandbits(39):08x}'[:10].ljust(10, '0')
        file = f'{when:%Y-%m-%d}-{items[0]["tool"]}-{items[0]["code"]}-{lesson}.md'
        if own:
            self.lessons.append(file)
        self.remember(found)
        return dict(self.templates['failed']['failure'], id=f'f-{self.random.getrandbits(39):08x}'[:10], files=sorted(set(files)),
                    items=items, lesson=dict(written=dict(id=lesson, file=file)),
                    lines=[f'  1:1  error  {message}  {code}' for _, code, message, _ in found])

    def remember(self, found):
        if len(self.known) < KNOWN_MAX:
            self.known.append(found[0])
        else:
            self.known[self.random.randrange(KNOWN_MAX)] = found[0]

    def emit(self, out, event):
        out.write(json.dumps(event, separators=(',', ':')) + '\n')
        self.events += 1


def hash_of(text):
    """the same in every process"""
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return value


def templates(events):
    """the events that the program wrote about a failure, an attempt that didn't help, and a pass"""
    runs = [event for event in events if event['kind'] == 'run']
    shots = {event['run']: event for event in events if event['kind'] == 'snapshot'}
    attempts = [event for event in events if event['kind'] == 'attempt']
    failed, passed = runs[0], runs[-1]
    bare = lambda event: copy.deepcopy(event)
    return dict(failed=bare(failed), passed=bare(passed), snapshot=bare(shots[failed['id']]),
                passing_snapshot=bare(shots[passed['id']]), failure=bare(attempts[0]), success=bare(attempts[-1]))
