"""A repository with the store of a team that has worked for months (`benches/history.py`), and the program on it: what
`benches/scale` and `benches/advice` share.
"""
import argparse
import ctypes
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import types

import against
import history

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD_MIB_MAX = 512
# Row by row is the same at any size, and building and comparing 40 million rows once more takes longer than everything else.
COMPARED_MAX = 100_000

PR_SET_CHILD_SUBREAPER = 36

STUB = '#!/bin/sh\n[ -s "$FINDINGS" ] || exit 0\ncat "$FINDINGS"\nexit 1\n'


def adopt_orphans():
    """from here on recorders, whose own parents end, can be waited for"""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def lesson_id(name):
    """`l-…` of a lesson's file"""
    return name.removesuffix('.md')[-10:]


class Store:
    def __init__(self, binary, folder, quick):
        self.binary, self.folder, self.quick = binary, folder, quick
        self.results, self.label, self.hand_over = [], '', lambda: None
        bin_, home = os.path.join(folder, 'bin'), os.path.join(folder, 'home')
        os.makedirs(bin_, exist_ok=True)
        os.makedirs(home, exist_ok=True)
        with open(os.path.join(bin_, 'eslint'), 'w') as file:
            file.write(STUB)
        os.chmod(os.path.join(bin_, 'eslint'), 0o755)
        self.stub = os.path.join(bin_, 'eslint')
        self.findings = os.path.join(folder, 'findings')
        self.env = {'PATH': f'{bin_}:{os.environ["PATH"]}', 'HOME': home, 'LC_ALL': 'C', 'TMPDIR': folder, 'FINDINGS': self.findings,
                    'GIT_AUTHOR_NAME': 'b', 'GIT_AUTHOR_EMAIL': 'b@example.invalid', 'GIT_COMMITTER_NAME': 'b',
                    'GIT_COMMITTER_EMAIL': 'b@example.invalid'}

    def report(self, name, value, limit, unit, detail='', samples=()):
        over = limit is not None and value > limit
        load = os.getloadavg()[0]
        self.results.append(dict(name=name, value=value, limit=limit, unit=unit, over=over, detail=detail, load=load, samples=list(samples)))
        bound = '' if limit is None else f' (limit {limit:g})'
        print(f'{self.label}{"OVER " if over else "     "}{name}: {value:.2f} {unit}{bound}  {detail}  [load {load:.1f}]', flush=True)

    def call(self, *argv, **kw):
        done = subprocess.run([self.binary, *argv], cwd=self.project, env=self.env, capture_output=True, text=True, **kw)
        if done.returncode:
            sys.exit(f'{" ".join(argv)}: {done.returncode}\n{done.stderr}')
        return done.stdout

    def counts(self):
        return json.loads(self.call('store', 'status', '--json'))['counts']

    # ---------------------------------------------------------------- a history
    def prepare(self, size):
        self.size = size
        self.project = os.path.join(self.folder, f'project-{size}')
        os.makedirs(os.path.join(self.project, 'src'))
        self.git('init', '--quiet', '--initial-branch=main')
        for n in range(50):
            self.write(f'src/a{n}.js', 'let a\n')
        self.write('.gitignore', 'verify-run.toml\n')
        self.git('add', '.')
        self.git('commit', '--quiet', '-m', 'start')
        self.state = os.path.join(self.project, '.git/verify-run')
        templates = history.templates(self.recorded())
        writer = templates['failed']['writer']
        keep = open(os.path.join(self.state, 'writer')).read()
        shutil.rmtree(self.state)
        shutil.rmtree(os.path.join(self.project, '.lessons'), ignore_errors=True)
        os.makedirs(self.state, mode=0o700)
        with open(os.path.join(self.state, 'writer'), 'w') as file:
            file.write(keep)
        commit = templates['failed']['commit']
        own = dict(writer=writer, root=self.project, branch='main', commit=commit)
        self.history = history.History(size, templates, self.keys, own)

    def recorded(self):
        """the events of a failure, an attempt that doesn't help, and a pass, as the program writes them"""
        self.snapshots(True)
        words = history.Words(0)
        for found in ([words.finding('eslint') for _ in range(5)], [words.finding('eslint')], []):
            self.write('src/a1.js', f'let a = {len(found)}\n')
            self.check(found, 'template')
            if found:  # a lesson is withdrawn once its check passes
                folder = os.path.join(self.project, '.lessons')
                name = next(name for name in os.listdir(folder) if name.endswith('.md'))
                with open(os.path.join(folder, name)) as file:
                    self.lesson = lesson_id(name), file.read()
        events = os.path.join(self.state, 'events')
        with open(os.path.join(events, os.listdir(events)[0])) as file:
            return [json.loads(line) for line in file]

    def git(self, *argv):
        subprocess.run(['git', *argv], cwd=self.project, env=self.env, check=True)

    def write(self, path, text):
        with open(os.path.join(self.project, path), 'w') as file:
            file.write(text)

    def snapshots(self, enabled):
        self.write('verify-run.toml', f'[snapshot]\nenabled = {str(enabled).lower()}\n')

    def keys(self, found):
        """what the program itself makes of the messages"""
        lines = ''.join(json.dumps(dict(text=text, tool=tool, code=code)) + '\n' for tool, code, text in found)
        return [json.loads(line) for line in self.call('pattern', 'explain', '--jsonl', input=lines).splitlines()]

    def measured(self, *argv):
        """seconds and MiB of a command"""
        started = time.monotonic()
        here = os.getcwd()
        os.chdir(self.project)
        pid = os.posix_spawn(self.binary, [self.binary, *argv], self.env, file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
        os.chdir(here)
        _, status, usage = os.wait4(pid, 0)
        if status:
            sys.exit(f'{" ".join(argv)} ended with {status}')
        return time.monotonic() - started, usage.ru_maxrss / 1024

    def fill(self):
        size, folder = self.size, os.path.join(self.folder, f'segments-{self.size}')
        os.makedirs(folder)
        started = time.monotonic()
        self.history.write(folder)
        generated = time.monotonic() - started
        made, failures = self.history, self.history.failures
        written = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
        taken, mib = self.measured('store', 'import', folder)
        self.report(f'{size}: import', taken, None, 's', f'{made.events} events, {failures} failures, {len(os.listdir(folder))} segments '
                    f'of {made.months} months, {written / 1e6:.0f} MB; generated in {generated:.0f} s')
        shutil.rmtree(folder)
        if size <= COMPARED_MAX:
            taken, mib = self.measured('store', 'rebuild')
            self.report(f'{size}: rebuild of the index', taken, None, 's', f'{made.events / taken / 1000:.0f} thousand events a second')
        self.report(f'{size}: memory while the index is built', mib, BUILD_MIB_MAX, 'MiB')
        counts = self.counts()
        assert counts['events'] == made.events and counts['failures'] == failures, (counts, made.events, failures)
        index = os.path.getsize(os.path.join(self.state, 'store.db'))
        self.report(f'{size}: bytes a failure', (written + index) / failures, None, 'B',
                    f'events {written / failures:.0f}, index {index / failures:.0f} (its passes, snapshots and attempts with it; '
                    f'{counts["patterns"] / failures:.1f} new patterns each); {(written + index) / 1e6:.0f} MB in all')
        self.files()

    def files(self):
        """the lessons and the raw output that the failures of this clone left"""
        lessons, raw = os.path.join(self.project, '.lessons'), os.path.join(self.state, 'raw')
        known, text = self.lesson
        for dir_, texts in ((lessons, {name: text.replace(known, lesson_id(name)) for name in self.history.lessons}),
                            (raw, {f'{run}.zst': 'x' * 400 for run in self.history.raw})):
            os.makedirs(dir_, mode=0o700, exist_ok=True)
            for name, content in texts.items():
                with open(os.path.join(dir_, name), 'w') as file:
                    file.write(content)
        # As the program leaves them: without it they are lessons that a team shares.
        with open(os.path.join(lessons, '.gitignore'), 'w') as file:
            file.write('*\n')

    def folders(self):
        """of the lessons and the raw outputs: what one is, the number, the bytes"""
        for name, folder in ('lesson', os.path.join(self.project, '.lessons')), ('raw output', os.path.join(self.state, 'raw')):
            sizes = [entry.stat().st_size for entry in os.scandir(folder)]
            yield name, len(sizes), sum(sizes)

    def again(self, size):
        """takes up a store that was kept"""
        self.size, self.project = size, os.path.join(self.folder, f'project-{size}')
        self.state = os.path.join(self.project, '.git/verify-run')
        own = max((entry for entry in os.scandir(os.path.join(self.state, 'events')) if not entry.name.startswith('wknowing-')),
                  key=lambda entry: entry.stat().st_size)
        known = []
        with open(own.path) as file:
            for line in file:
                event = json.loads(line)
                for item in (event.get('failure') or {}).get('items', [])[:1]:
                    if 'code' in item:  # else a run that was killed: what it said was no finding
                        known.append((item['tool'], item['code'], item['message'], item))
        self.history = types.SimpleNamespace(known=known, merged=[])

    # ---------------------------------------------------------------- recording
    def check(self, found, task):
        """seconds of one run of the check that finds this, and the processor's"""
        with open(self.findings, 'w') as file:
            if found:
                file.write(f'\n{self.project}/src/a{len(task) % 50}.js\n' + ''.join(f'  1:1  error  {m}  {c}\n' for _, c, m, *_ in found) + '\n')
        return self.timed([self.binary, '--sync', '--task', task, 'eslint', 'src'])

    def timed(self, argv):
        taken = self.timed_at_once(argv)
        self.hand_over()
        return taken

    def timed_at_once(self, argv):
        read, write = os.pipe()
        here = os.getcwd()
        os.chdir(self.project)
        started = time.perf_counter()
        # The outcome is read, as by an agent.
        pid = os.posix_spawnp(argv[0], argv, self.env, file_actions=[(os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_DUP2, write, 2),
                              (os.POSIX_SPAWN_CLOSE, write), (os.POSIX_SPAWN_CLOSE, read)])
        os.close(write)
        while os.read(read, 65536):
            pass
        os.close(read)
        _, _, usage = os.wait4(pid, 0)
        taken, cpu = time.perf_counter() - started, usage.ru_utime + usage.ru_stime
        os.chdir(here)
        # The recorder is a process of its own whose only waiting parent is the one that adopts orphans: this one.
        while True:
            try:
                usage = os.wait4(-1, 0)[2]
            except ChildProcessError:
                return taken, cpu
            cpu += usage.ru_utime + usage.ru_stime

    def take(self, size, reused):
        """makes a store of `size` patterns, or takes up the one that was kept"""
        self.fresh, self.pick = history.Words(time.time_ns() if reused else size + 1), random.Random(size)
        if reused:
            self.again(size)
        else:
            self.prepare(size)
            self.fill()
            # What is measured next does not wait for what this has written.
            os.sync()

    def finding(self, kind):
        if kind == 'new':
            return self.fresh.finding('eslint')
        while True:
            found = self.pick.choice(self.history.known)
            # Of a merged one another may be meant.
            if found[0] == 'eslint' and found[3]['pattern'] not in self.history.merged:
                return found


def main(bench, sizes, prefix):
    """measures each size with `bench(binary, folder, quick).measure(size, reused)`; the exit code"""
    parser = argparse.ArgumentParser()
    parser.add_argument('binary', nargs='?')
    parser.add_argument('--quick', action='store_true', help='fewer runs, and the smallest size alone')
    parser.add_argument('--sizes', help='patterns, with commas')
    parser.add_argument('--json')
    parser.add_argument('--keep', action='store_true', help='leave the stores where they are')
    parser.add_argument('--reuse', metavar='FOLDER', help='take the stores that were left there')
    against.add_option(parser)
    options = parser.parse_args()
    if not sys.platform.startswith('linux'):
        print('the measurement needs Linux: skipped')
        return 0
    binary = options.binary
    if binary is None:
        subprocess.run(['cargo', 'build', '--quiet', '--release', '--locked'], cwd=TOP, check=True)
        binary = os.path.join(os.environ.get('CARGO_TARGET_DIR', os.path.join(TOP, 'target')), 'release/verify-run')
    sizes = [int(size) for size in options.sizes.split(',')] if options.sizes else sizes[:1] if options.quick else sizes
    adopt_orphans()
    folder = options.reuse or tempfile.mkdtemp(prefix=prefix)
    try:
        binaries = [os.path.abspath(binary)]
        if options.against:
            binaries = against.copies([binary, options.against], folder)
        measured = bench(binaries[0], folder, options.quick)
        benches = [measured]
        if options.against:
            benches.append(bench(binaries[1], os.path.join(folder, 'other'), options.quick))
            benches[1].label = 'other '
        for size in sizes:
            against.measure(benches, lambda bench: bench.measure(size, bool(options.reuse)))
            if not (options.keep or options.reuse):
                for each in benches:
                    shutil.rmtree(each.project)
        within = not options.against or against.compare(measured.results, benches[1].results, options.ratio)
        if options.json:
            with open(options.json, 'w') as file:
                json.dump(measured.results, file, indent=1)
        return 1 if not within or any(result['over'] for result in measured.results) else 0
    finally:
        if options.keep or options.reuse:
            print(folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
