"""The same measurement of two binaries in one run, in turns: after each measured process the other binary has one, so that
a busy machine slows both alike. What `--against` of the benchmarks is made of.

Both have stores of their own, which they made themselves: formats may differ between them. Both are copied first, one
after the other: two files with the same binary, one of them written while the machine was busy, differed by 20 % in the
time that a start takes.
"""
import os
import shutil
import statistics
import threading

RATIO_MAX = 1.05


def add_option(parser):
    parser.add_argument('--against', metavar='BINARY', help='measure this one too, in turns, and compare: the ratios of the medians')
    parser.add_argument('--ratio', type=float, default=RATIO_MAX, metavar='X', help=f'the largest ratio with --against ({RATIO_MAX})')


def copies(binaries, folder):
    """paths of copies of the binaries, written alike, in `folder`"""
    paths = []
    for number, binary in enumerate(binaries):
        place = os.path.join(folder, f'binary-{number}')
        os.makedirs(place, exist_ok=True)
        paths.append(shutil.copy(binary, os.path.join(place, 'verify-run')))
    os.sync()
    return paths


class Turns:
    """threads of which one runs at a time, until it hands over"""
    def __init__(self):
        self.changed = threading.Condition()
        self.running, self.whose, self.failed = [], None, []

    def hand_over(self):
        """lets the next one measure, and waits for the own turn"""
        with self.changed:
            self.next()
            self.wait()

    def next(self):
        at = self.running.index(self.whose)
        self.whose = self.running[(at + 1) % len(self.running)]
        self.changed.notify_all()

    def wait(self):
        me = threading.get_ident()
        self.changed.wait_for(lambda: self.whose == me)

    def take_part(self, work):
        with self.changed:
            self.wait()
        try:
            work()
        except BaseException as error:
            self.failed.append(error)
        with self.changed:
            self.next()
            self.running.remove(threading.get_ident())

    def all(self, works):
        threads = [threading.Thread(target=self.take_part, args=(work,)) for work in works]
        with self.changed:
            for thread in threads:
                thread.start()
                self.running.append(thread.ident)
            self.whose = self.running[0]
            self.changed.notify_all()
        for thread in threads:
            thread.join()
        if self.failed:
            raise self.failed[0]


def measure(benches, work):
    """`work(bench)` for all of them, in turns; `hand_over` of a bench says that a process was measured"""
    turns = Turns()
    for bench in benches:
        bench.hand_over = turns.hand_over
    turns.all([lambda bench=bench: work(bench) for bench in benches])


def compare(ours, other, ratio_max):
    """prints the ratios of the figures that have samples; whether all are within the limit"""
    others = {result['name']: result for result in other}
    within = True
    print(f'\nratio to the other binary (limit {ratio_max:g}), load {os.getloadavg()[0]:.1f}')
    for result in ours:
        peer = others.get(result['name'])
        if peer is None or not (result.get('samples') and peer.get('samples')):
            continue
        values = [statistics.median(found['samples']) for found in (result, peer)]
        if min(values) <= 0:
            continue
        result['ratio'] = values[0] / values[1]
        over = result['ratio'] > ratio_max
        within &= not over
        print(f'{"OVER " if over else "     "}{result["name"]}: {result["ratio"]:.3f}  ({values[0]:.4g} to {values[1]:.4g}, '
              f'{len(result["samples"])} of each)', flush=True)
    return within
