"""The day: what is broken, how it is looked at, and how it ends.

Each function works through one project and returns the mistakes that it made, with what must be known of each at the
end. The steps are those of an ordinary hour: typed wrong, piped, thrown away, interrupted, watched, reverted.
"""

from dataclasses import dataclass

from worker import Worker


@dataclass
class Mistake:
    """One planted mistake."""

    project: str
    text: str  # of the pattern's title, and of no other's
    files: tuple[str, ...]  # the ones whose edit is its fix
    tasks: int = 1  # in which it was made
    fixed_by_edit: bool = True  # not undone, not reformatted, not left open
    kept: str | None = None  # why its lesson stays
    pattern: bool = True  # whether there is a pattern at all


def typescript(dev: Worker) -> list[Mistake]:
    dev.task("parse-paths")
    # Typed wrong.
    dev.run("verify-run npx eslint --nope", 2)
    dev.run("verify-run npx tsc --noEmitt", 1)
    dev.run("verify-run npx eslint src/nofile.ts", 2)
    dev.run("verify-run npx vitest run tests/nothing", 1)
    # One type error, seen in five ways; an unrelated file changes with its fix.
    dev.edit("src/helpers/parseUtil.ts", "issueData.path || []", "issueData.pathh ?? []")
    dev.run("verify-run npx tsc --noEmit | tail -3", 0)
    dev.terminal("verify-run npx tsc --noEmit", exit_code=2)
    dev.run("cd src && verify-run npx tsc --noEmit -p ..", 2)
    dev.run("verify-run npm run typecheck", 2)
    dev.run("verify-run npx tsc --noEmit >/dev/null 2>&1", 2)
    dev.append("README.md", "\nPaths are arrays.\n")
    dev.edit("src/helpers/parseUtil.ts", "issueData.pathh ?? []", "issueData.path ?? []")
    dev.run("verify-run npx tsc --noEmit", 0)
    dev.run("verify-run npm run typecheck", 0)
    # A finding that is reverted with git.
    dev.append("src/errors.ts", "debugger;\n")
    dev.run("verify-run npx eslint src", 1)
    dev.git("checkout", "src/errors.ts")
    dev.run("verify-run npx eslint src", 0)
    # A formatter's complaint, and the formatter.
    dev.append("src/helpers/typeAliases.ts", "export   type  Nothing = never\n")
    dev.run("verify-run npm run format:check", 1)
    dev.run("npm run format", 0)
    dev.run("verify-run npm run format:check", 0)
    # A watcher: vitest's default on a terminal.
    dev.terminal("verify-run npx vitest", [("press .{0,20}h|Waiting for file changes", b"q")])
    dev.git("commit", "--all", "--quiet", "--message", "paths")
    # A wrong bound, found by a test; three attempts.
    dev.task("string-bounds")
    dev.edit("src/types.ts", "if (input.data.length < check.value) {", "if (input.data.length <= check.value) {")
    dev.run("verify-run npx vitest run | head -3", 0)
    dev.run("verify-run npx vitest run", 1)
    dev.edit("src/types.ts", "if (input.data.length <= check.value) {", "if (input.data.length - 1 < check.value) {")
    dev.run("verify-run npx vitest run", 1)
    dev.edit("src/types.ts", "if (input.data.length - 1 < check.value) {", "if (input.data.length < check.value + 1) {")
    dev.terminal("verify-run npx vitest run", exit_code=1)
    dev.edit("src/types.ts", "if (input.data.length < check.value + 1) {", "if (check.value > input.data.length) {")
    dev.run("verify-run npx vitest run", 0)
    dev.git("commit", "--all", "--quiet", "--message", "bounds")
    # One finding in two tasks, as text and as JSON.
    for task, file in (("aliases", "src/helpers/enumUtil.ts"), ("messages", "src/helpers/typeAliases.ts")):
        dev.task(task)
        dev.append(file, f"export var {task} = 1;\n")
        dev.run("verify-run npx eslint src -f json", 1)
        dev.run("verify-run npm run lint", 1)
        dev.edit(file, f"export var {task}", f"export const {task}")
        dev.run("verify-run npm run lint", 0)
        dev.run("verify-run npx eslint src -f json", 0)
        dev.git("commit", "--all", "--quiet", "--message", task)
    return [
        Mistake("ts", "pathh", ("src/helpers/parseUtil.ts",)),
        Mistake("ts", "debugger", ("src/errors.ts",), fixed_by_edit=False),
        Mistake("ts", "passing validations", ("src/types.ts",), kept="three attempts"),
        Mistake("ts", "Unexpected var", ("src/helpers/enumUtil.ts", "src/helpers/typeAliases.ts"), tasks=2, kept="recurred"),
    ]


def python(dev: Worker) -> list[Mistake]:
    dev.task("process-names")
    dev.run("verify-run pytest -q --nope", 4)
    dev.run("verify-run ruff check --selec F .", 2)
    dev.terminal("verify-run pytest tests", [(r"collected|\.{5}", b"\x03")])
    # mypy wraps at the terminal's width, and at 80 columns in a pipe.
    dev.edit("src/structlog/_utils.py", '    processname = "n/a"', '    processname: list[dict[str, tuple[int, ...]]] = "n/a"')
    dev.terminal("verify-run mypy src", columns=132, exit_code=1)
    dev.run("verify-run mypy src", 1)
    dev.run("verify-run mypy src --no-pretty | tail -4", 0)
    dev.edit("src/structlog/_utils.py", "    processname: list[dict[str, tuple[int, ...]]] =", "    processname: str =")
    dev.run("verify-run mypy src", 0)
    # An unused import, as text, as JSON and from a folder below; another file changes with its fix.
    dev.edit("src/structlog/testing.py", "from collections.abc", "import zlib\n\nfrom collections.abc")
    dev.run("verify-run ruff check .", 1)
    dev.run("verify-run ruff check --output-format json .", 1)
    dev.run("cd src && verify-run ruff check .", 1)
    dev.append("src/structlog/testing.py", "\n\nLEVEL = zlib.Z_BEST_SPEED\n")
    dev.append("README.md", "\nCaptured calls are tuples.\n")
    dev.run("verify-run ruff check .", 0)
    dev.git("commit", "--all", "--quiet", "--message", "names")
    # The same failure thrown away, cut, from a folder below, without a traceback, and whole: in two tasks.
    for task, mended in (("fallback", "str(mp.current_process().name)"), ("again", 'f"{mp.current_process().name}"')):
        dev.task(task)
        dev.edit("src/structlog/_utils.py", "mp.current_process().name", "mp.current_process().name.upper()")
        dev.run("verify-run pytest -q -p no:randomly >/dev/null 2>&1", 1)
        dev.run("verify-run pytest -v tests/test_utils.py | head -3", 0)
        dev.run("cd tests && verify-run pytest -q test_utils.py | tail -1", 0)
        dev.run("verify-run pytest -q --tb=no tests/test_utils.py", 1)
        dev.run("verify-run pytest -q tests/test_utils.py", 1)
        dev.edit("src/structlog/_utils.py", "mp.current_process().name.upper()", mended)
        dev.run("verify-run pytest -q tests/test_utils.py", 0)
        dev.run("verify-run pytest -q", 0)
    # Put away and brought back.
    dev.task("context")
    dev.edit("src/structlog/contextvars.py", "event_dict.setdefault(", "event_dict.get(")
    dev.run("verify-run pytest -q tests/test_contextvars.py -k test_bind", 1)
    dev.git("stash")
    dev.run("verify-run pytest -q tests/test_contextvars.py -k test_bind", 0)
    dev.git("stash", "drop")
    dev.append("tests/test_utils.py", "x = {  'a':1 }\n")
    dev.run("verify-run ruff format --check .", 1)
    dev.run("ruff format -q .", 0)
    dev.run("verify-run ruff format --check .", 0)
    dev.git("commit", "--all", "--quiet", "--message", "context")
    return [
        Mistake("py", "Incompatible types in assignment", ("src/structlog/_utils.py",)),
        Mistake("py", "zlib", ("src/structlog/testing.py",)),
        Mistake("py", "test_changed", ("src/structlog/_utils.py",), tasks=2, kept="recurred"),
        Mistake("py", "TestContextvars::test_bind", ("src/structlog/contextvars.py",), fixed_by_edit=False),
    ]


def rust(dev: Worker) -> list[Mistake]:
    dev.task("display")
    dev.run("verify-run cargo tset", 101)
    dev.run("verify-run cargo test --tests-only", 1)
    # A formatter's complaint.
    dev.edit("src/lib.rs", "pub struct Version {", "pub struct   Version {")
    dev.run("verify-run cargo fmt --check", 1)
    dev.run("cargo fmt", 0)
    dev.run("verify-run cargo fmt --check", 0)
    # Does not compile; looked at through tail, then whole.
    dev.edit(
        "src/eval.rs",
        "    for cmp in &req.comparators {\n        if !matches_impl(cmp, ver) {",
        "    for cmp in &req.comparatorz {\n        if !matches_impl(cmp, ver) {",
    )
    dev.run("verify-run cargo build 2>&1 | tail -5", 0)
    dev.run("verify-run cargo build", 101)
    dev.run("verify-run cargo test -q", 101)
    dev.edit("src/eval.rs", "&req.comparatorz", "req.comparators.iter()")
    dev.append("README.md", "\nRequirements are lists of comparators.\n")
    dev.run("verify-run cargo build", 0)
    dev.run("verify-run cargo test -q", 0)
    # A lint in two files: its name is printed with the first one only.
    dev.edit("src/eval.rs", "if ver.pre.is_empty() {", "if ver.pre.as_str().len() == 0 {")
    dev.edit("src/display.rs", "if self.comparators.is_empty() {", "if self.comparators.len() == 0 {")
    dev.terminal("verify-run cargo clippy", exit_code=101)
    dev.edit("src/eval.rs", "if ver.pre.as_str().len() == 0 {", "if ver.pre.as_str().is_empty() {")
    dev.run("verify-run cargo clippy --color always", 101)
    dev.edit("src/display.rs", "if self.comparators.len() == 0 {", "if self.comparators.iter().next().is_none() {")
    dev.run("verify-run cargo clippy", 0)
    dev.git("commit", "--all", "--quiet", "--message", "display")
    # Three attempts at one test.
    dev.task("build-metadata")
    dev.edit("src/display.rs", 'write!(formatter, "+{}", self.build)', 'write!(formatter, "#{}", self.build)')
    dev.run("verify-run cargo test -q >/dev/null 2>&1", 101)
    dev.run("verify-run cargo test -q", 101)
    dev.edit("src/display.rs", '"#{}", self.build', '".{}", self.build')
    dev.run("verify-run cargo test -q 2>&1 | tail -3", 0)
    dev.run("verify-run cargo test -q", 101)
    dev.edit("src/display.rs", '".{}", self.build', '"-{}", self.build')
    dev.run("verify-run cargo test -q", 101)
    dev.edit("src/display.rs", '"-{}", self.build', '"+{}", self.build.as_str()')
    dev.run("verify-run cargo test -q", 0)
    dev.git("commit", "--all", "--quiet", "--message", "metadata")
    dev.terminal("verify-run cargo test", [("running|Running|Compiling", b"\x03")])
    # Left for tomorrow.
    dev.task("wildcards")
    dev.edit("src/display.rs", 'Op::Caret => "^",', 'Op::Caret => "^^",')
    dev.run("verify-run cargo test -q", 101)
    return [
        Mistake("rs", "comparatorz", ("src/eval.rs",)),
        Mistake("rs", "length comparison to zero", ("src/eval.rs", "src/display.rs")),
        Mistake("rs", "test_display", ("src/display.rs",), kept="three attempts"),
        Mistake("rs", "test_comparator_parse", ("src/display.rs",), fixed_by_edit=False, kept="open"),
    ]


def monorepo(ada: Worker, bob: Worker) -> list[Mistake]:
    """Two agents, each in a work tree of its own."""
    for agent, task in ((ada, "rates"), (bob, "discounts")):
        agent.task(task)
        agent.edit("services/billing/billing/rates.py", "gross / (1 + rate)", "gross * (1 + rate)")
    ada.run("cd services/billing && verify-run pytest -q", 1)
    bob.run("verify-run make check 2>&1 | tail -2", 0)
    ada.run("verify-run make check", 2)
    bob.run("verify-run pytest -q services/billing", 1)
    for agent, mended in ((ada, "gross / (1.0 + rate)"), (bob, "gross / (rate + 1)")):
        agent.edit("services/billing/billing/rates.py", "gross * (1 + rate)", mended)
    ada.run("cd services/billing && verify-run pytest -q", 0)
    ada.run("verify-run make check", 0)
    bob.run("verify-run pytest -q services/billing", 0)
    bob.run("verify-run make check 2>&1", 0)
    ada.task("freezing")
    ada.edit("packages/store/src/core/immerClass.ts", "autoFreeze_: boolean = true", "autoFreeze_: boolean = false")
    ada.run("verify-run npm test 2>&1 | tail -4", 0)
    ada.run("verify-run npm test", 1)
    ada.git("checkout", ".")
    ada.run("verify-run npm test", 0)
    return [
        Mistake("mono", "test_net", ("services/billing/billing/rates.py",), tasks=2, kept="recurred"),
        Mistake("mono", "freezes its result", ("packages/store/src/core/immerClass.ts",), fixed_by_edit=False),
    ]
