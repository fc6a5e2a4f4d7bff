"""Four weeks of a small team, recorded by the program itself: a shop with a front end and an API, two agents and a person.

    python3 team.py PROJECT PROGRAM

PROJECT is an empty folder. Every event comes from a run of PROGRAM; `faketime` gives each its day, up to today, so that a
dashboard shows them as the past. What the checks print is the output of tsc, eslint, vite and pytest for the mistakes below.
"""
import datetime
import json
import os
import random
import subprocess
import sys

project, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
draw = random.Random(20)
now = datetime.datetime.now().replace(microsecond=0)
moment = now - datetime.timedelta(days=23.6)
tools = os.path.join(os.path.dirname(project), 'shop-tools')
printed = os.path.join(tools, 'printed')


def pytest(file, test, message, line):
    name = test.split('::')[-1]
    return 'pytest -q', 1, (f'F                                                                        [100%]\n'
                            f'=================================== FAILURES ===================================\n'
                            f'___________________________ {name} ___________________________\n\n'
                            f'    def {name}():\n>       check()\nE       {message}\n\n{file}:{line}: {message.split(":")[0]}\n'
                            f'=========================== short test summary info ============================\n'
                            f'FAILED {test} - {message}\n1 failed, 11 passed in 0.41s\n')


def tsc(file, code, message, line):
    return 'tsc --noEmit', 2, f'{file}({line},9): error {code}: {message}\n'


def eslint(file, rule, message, line):
    return 'eslint .', 1, f'\n{project}/{file}\n  {line}:7  error  {message}  {rule}\n\n✖ 1 problem (1 error, 0 warnings)\n'


def vite(file, name, module, line):
    return 'vite build', 1, (f'vite v7.1.4 building for production...\n✗ Build failed in 212ms\nerror during build:\n'
                             f'{file} ({line}:9): "{name}" is not exported by "{module}", imported by "{file}".\n')


# A mistake: the file, what is wrong in it, what is right, and what its check prints.
MISTAKES = {
    'discount': ('src/cart/total.ts', 'order.discount', 'order.pricing.discount',
                 tsc('src/cart/total.ts', 'TS2339', "Property 'discount' does not exist on type 'Order'.", 12)),
    'refund': ('src/cart/refund.ts', 'order.refunded', 'order.pricing.refunded',
               tsc('src/cart/refund.ts', 'TS2339', "Property 'refunded' does not exist on type 'Order'.", 8)),
    'column': ('api/refunds.py', "refund['refunded_at']", "refund.get('refunded_at')",
               pytest('tests/test_refunds.py', 'tests/test_refunds.py::test_refund_is_stored',
                      'sqlalchemy.exc.OperationalError: no such column: refunds.refunded_at', 31)),
    'rounding': ('api/pricing.py', 'price - price * discount', 'round(price * (1 - discount), 2)',
                 pytest('tests/test_pricing.py', 'tests/test_pricing.py::test_total_with_discount',
                        'assert 26.999999999999996 == 27', 9)),
    'none': ('api/orders.py', 'sum(line.price for line in lines)', 'sum(line.price or 0 for line in lines)',
             pytest('api/orders.py', 'tests/test_orders.py::test_order_without_price',
                    "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'", 17)),
    'yaml': ('api/settings.py', 'import yaml', 'import tomllib',
             pytest('api/settings.py', 'tests/test_settings.py::test_settings_are_read',
                    "ModuleNotFoundError: No module named 'yaml'", 3)),
    'unused': ('src/ui/basket.ts', 'const total = sum(items)', 'return sum(items)',
               eslint('src/ui/basket.ts', '@typescript-eslint/no-unused-vars',
                      "'total' is assigned a value but never used", 14)),
    'hooks': ('src/ui/checkout.tsx', 'useEffect(load, [])', 'useEffect(load, [order.id])',
              eslint('src/ui/checkout.tsx', 'react-hooks/exhaustive-deps',
                     "React Hook useEffect has a missing dependency: 'order.id'", 22)),
    'money': ('src/ui/price.ts', "import { formatPrice } from '../lib/money'", "import { format } from '../lib/money'",
              vite('src/ui/price.ts', 'formatPrice', 'src/lib/money.ts', 3)),
}
# Each task: its days after the one before, its name, who works on it, and its mistakes with the attempts that did not help.
TASKS = [
    (0, 'Basket totals', 'claude-code', [('discount', 1)]), (0.6, 'Refund button', 'codex', [('refund', 0), ('unused', 0)]),
    (0.9, 'Store refunds', 'codex', [('column', 2)]), (1.1, 'Round prices', 'claude-code', [('rounding', 1)]),
    (0.7, 'Settings file', 'codex', [('yaml', 0)]), (1.2, 'Checkout page', 'claude-code', [('hooks', 1), ('unused', 0)]),
    (0.5, 'Price labels', 'codex', [('money', 0), ('discount', 0)]), (1.4, 'Order export', None, [('none', 0)]),
    (0.8, 'Refund mails', 'codex', [('column', 1)]), (0.9, 'Voucher codes', 'claude-code', [('discount', 0), ('rounding', 0)]),
    (1.0, 'Empty basket', 'claude-code', []), (0.7, 'Order filters', 'codex', [('none', 1), ('unused', 0)]),
    (1.1, 'Partial refunds', 'codex', [('column', 1), ('refund', 0)]), (0.9, 'Tax display', 'claude-code', [('rounding', 0)]),
    (1.2, 'Saved baskets', 'codex', [('hooks', 0)]), (0.8, 'Currency switch', 'claude-code', [('money', 0)]),
    (1.0, 'Refund report', 'codex', [('column', 0)]), (0.9, 'Gift wrapping', None, []),
    (1.1, 'Bulk discount', 'claude-code', [('discount', 0)]), (0.7, 'Invoice numbers', 'codex', [('none', 0)]),
    (1.0, 'Delivery dates', 'claude-code', []), (0.8, 'Refund limits', 'codex', [('column', 0), ('unused', 0)]),
    (1.0, 'Order notes', 'claude-code', [('hooks', 0)]), (0.9, 'Loyalty points', 'codex', [('discount', 1)]),
    (0.8, 'Stock levels', 'claude-code', []), (0.7, 'Refund deadline', 'codex', [('column', None)]),
]


def at(minutes):
    """moves the clock on, never past now"""
    global moment
    moment = min(moment + datetime.timedelta(minutes=minutes), now)
    return moment.strftime('%Y-%m-%d %H:%M:%S')


def run(*command, minutes=4, output=''):
    with open(printed, 'w', encoding='utf-8') as file:
        file.write(output)
    environment = {'PATH': f'{tools}:{os.environ["PATH"]}', 'FAKETIME_DONT_FAKE_MONOTONIC': '1'}
    return subprocess.run(['faketime', at(minutes), *command], cwd=project, env={**os.environ, **environment},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)


def verify(*arguments, minutes=4):
    done = run(program, *arguments, minutes=minutes)
    if done.returncode:
        sys.exit(f'{arguments}: {done.stdout}{done.stderr}')
    return done.stdout


def write(path, text):
    path = os.path.join(project, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def check(task, agent, line, code, output, minutes=4):
    who = ['--agent', agent] if agent else []
    done = run(program, '--sync', '--task', task, *who, *line.split(), minutes=minutes, output=f'{code}\n{output}')
    if done.returncode != code:
        sys.exit(f'{line}: {done.returncode} instead of {code}\n{done.stdout}{done.stderr}')


def source(path, body, note=''):
    comment = '#' if path.endswith('.py') else '//'
    write(path, f'{comment} The shop: {os.path.basename(path)}{note}\n{body}\n')


def commit(message):
    for command in (['add', '--all'], ['commit', '--quiet', '--allow-empty', '--message', message]):
        done = run('git', *command, minutes=0)
        if done.returncode:
            sys.exit(done.stderr)


def work(task, agent, mistakes):
    files = [MISTAKES[name][0] for name, _ in mistakes] or ['src/cart/total.ts', 'src/ui/checkout.tsx']
    verify('warn', '--task', task, '--title', task, '--session', task, '--files', *files)
    for name, attempts in mistakes:
        file, wrong, right, (line, code, output) = MISTAKES[name]
        source(file, f'{wrong}  # {task}' if file.endswith('.py') else f'{wrong}  // {task}')
        check(task, agent, line, code, output, minutes=9)
        for attempt in range(attempts or 0):
            source(file, f'({wrong})', f', attempt {attempt + 1} for {task}')
            check(task, agent, line, code, output, minutes=6)
        if attempts is not None:
            source(file, right, f', for {task}')
            check(task, agent, line, 0, 'ok\n', minutes=11)
    if not mistakes:
        for name in ('discount', 'hooks'):
            file, _, right, (line, _, _) = MISTAKES[name]
            source(file, right, f', for {task}')
            check(task, agent, line, 0, 'ok\n')
    for line in draw.sample(['pytest -q', 'tsc --noEmit', 'eslint .', 'vite build'], 2):
        if all(attempts is not None or MISTAKES[name][3][0] != line for name, attempts in mistakes):
            check(task, agent, line, 0, 'ok\n')
    commit(task)


def known(command, name):
    return json.loads(verify(*command.split(), '--json', minutes=0))[name]


def curate():
    fixes = known('fix list --state success', 'fixes')
    column = next(fix for fix in fixes if 'refunded_at' in (fix.get('summary') or ''))
    verify('fix', 'record', column['id'], '--cause', 'The migration that adds the column was not run', '--rule',
           'Run `make migrate` before the tests of refunds', '--by', 'Ada')
    entries = [
        ('Prices are rounded once, at the end', 'Rounding each line adds up to a wrong total', 'Round the sum to two places',
         'api/pricing.py', 'claude-code'),
        ('Refunds need a migration', 'The column is missing in an old database', 'Run `make migrate`', 'api/**', 'Ada'),
        ('Orders have their prices under `pricing`', 'The old field is gone', 'Read `order.pricing`', 'src/cart/**', 'codex'),
    ]
    for title, pitfall, fix, files, by in entries:
        verify('knowledge', 'add', 'gotcha', '--title', title, '--set', f'pitfall={pitfall}', '--set', f'fix={fix}', '--files',
               files, '--by', by)
    empty = next(it for it in known('pattern list', 'patterns') if 'Build failed' in it['title'])
    verify('pattern', 'mute', empty['id'], '--why', 'It says nothing', '--by', 'Ada')
    waiting = [item['id'] for item in known('promote list', 'promotions')]
    if len(waiting) > 1:
        verify('promote', 'approve', waiting[-1], '--by', 'Ada', '--reason', 'We all run into it')


def here(*command):
    """a command without faketime and without the tools of the shop, whatever its exit code"""
    return subprocess.run(command, cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout


def judge():
    """a feature that the gate rejects until a person has to decide"""
    write('.verify-run/qa-checklist.yml', 'qa_checklist:\n  version: "1"\n  functionality:\n' + ''.join(
        f'    - id: {name}\n      criterion: {criterion}\n      validation: exit_code == 0\n      command: "{command}"\n'
        '      blocking: true\n'
        for name, criterion, command in [('F1', 'Prices are rounded once', 'sh check.sh'), ('Q1', 'Sources are formatted', 'true')]))
    commit('The checklist of the gate')
    for attempt in (1, 2, 3):
        write('check.sh', f'echo "api/pricing.py:{attempt}: error: price {attempt} is rounded twice"\nexit 1\n')
        digest = here(program, 'gate', 'trust', '--digest').strip()
        here(program, 'gate', 'run', '--no-prp', '--trust', digest)


def waver():
    """one tree, two results, twice"""
    # Every second time the mail is late. What is counted is outside of the tree, and the files are older than a run: with
    # the clock of `faketime` they would not be.
    write('tests/test_mails.py', 'import pathlib\n\n\ndef test_mail_arrives():\n'
          '    sent = pathlib.Path(__file__).parents[2] / "shop-tools" / "mails"\n'
          '    sent.write_text(sent.read_text() + "." if sent.exists() else ".")\n'
          '    if len(sent.read_text()) % 2:\n        raise TimeoutError("no mail after 2.0 s")\n')
    commit('Mails')
    for _ in range(4):
        here(program, '--sync', '--task', 'Mails', '--agent', 'codex', 'pytest', '-q', 'tests/test_mails.py')


def learn():
    """a job that wrote a page, one that waits for a scenario, and one that failed"""
    write('conftest.py', 'import sys\n\nsys.dont_write_bytecode = True\n')
    write('api/__init__.py', '')
    write('.gitignore', '__pycache__\n.pytest_cache\n')
    wrong = {'weight': 'a - b', 'name': '"box"', 'size': 'a + b'}
    right = {'weight': 'a + b', 'name': '"parcel"', 'size': 'a * b'}
    tests = {'weight': 'parcel.weight(1, 2) == 3', 'name': 'parcel.name(1, 2) == "parcel"', 'size': 'parcel.size(2, 3) == 6'}

    def parcel(mended):
        bodies = {name: right[name] if name in mended else wrong[name] for name in wrong}
        write('api/parcel.py', '\n\n'.join(f'def {name}(a, b):\n    return {body}\n' for name, body in bodies.items()))

    for name, fact in tests.items():
        write(f'tests/test_{name}.py', f'from api import parcel\n\n\ndef test_{name}():\n    assert {fact}\n')
    parcel([])
    commit('Parcels')
    # The second one is recorded without its secret, so it can't be run again.
    secret = ['-o', f'cache_dir=ghp_{"a" * 36}']
    for number, (name, more) in enumerate([('weight', []), ('name', secret), ('size', secret)]):
        here(program, 'task', 'start', f'Parcel {name}')
        check = [program, '--sync', 'pytest', '-q', f'tests/test_{name}.py', *more]
        here(*check)
        parcel(list(wrong)[:number + 1])
        here(*check)
        here(program, 'task', 'done')
        commit(f'Parcel {name}')
    here(program, 'library', 'init', '--by', 'Ada')
    here(program, 'library', 'work')
    # A person signs a command that does not show the fix.
    waiting = json.loads(here(program, 'library', 'jobs', '--state', 'needs_manual_scenario', '--json') or '{}').get('jobs', [])
    for job in [job['id'] for job in waiting if job['task'] == 'Parcel size']:
        path = json.loads(here(program, 'library', 'scenario', job, '--json'))['path']
        with open(os.path.join(project, path), encoding='utf-8') as file:
            text = file.read()
        line = next(line for line in text.splitlines() if line.startswith('- Entrypoint command:'))
        for old, new in [(line, "- Entrypoint command: `pytest -q 'tests/no such test.py'`"), ('(name/id):', '(name/id): Ada'),
                         ('- Date:', '- Date: 2026-11-26'), ('acknowledgement:', 'acknowledgement: I have read it')]:
            text = text.replace(old, new)
        write(path, text)
        here(program, 'library', 'requeue', job, '--by', 'Ada', '--reason', 'The packages are there', '--scenario', path)
        here(program, 'library', 'work')


os.makedirs(tools)
os.makedirs(project, exist_ok=True)
for name in ('pytest', 'tsc', 'eslint', 'vite'):
    path = os.path.join(tools, name)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'#!/bin/sh\n{{ read -r code; cat; exit "$code"; }} <"{printed}"\n')
    os.chmod(path, 0o755)
write('verify-run.toml', '[advice]\nholdout_share = 0.3\n[promotion]\ntasks = 3\nconfidence = 0.55\neffectiveness = 0.5\n')
write('AGENTS.md', '# The shop\n\nRun `make migrate` after a pull.\n')
for file, _, right, _ in MISTAKES.values():
    source(file, right)
for command in (['init', '--quiet', '--initial-branch', 'main'], ['config', 'user.name', 'Ada'],
                ['config', 'user.email', 'ada@example.com']):
    run('git', *command, minutes=0)
commit('The shop')
for number, (days, task, agent, mistakes) in enumerate(TASKS):
    at(days * 24 * 60)
    work(task, agent, mistakes)
curate()
judge()
learn()
waver()
