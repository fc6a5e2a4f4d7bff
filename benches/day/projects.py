"""The four real projects of the working day, unpacked from what the registries publish.

`Tools` fetches and pins everything into a cache once; each `*_project` function makes a fresh git repository with the
published sources, the project's own configuration, and a green state of all its checks.
"""

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
STRUCTLOG = "26.1.0"
SEMVER = "1.0.26"

GITIGNORE = "node_modules\ntarget\n__pycache__\n.mypy_cache\n.ruff_cache\n.pytest_cache\ndist\n.venv\n"
# What an archive may do where it is unpacked; Python before 3.11.4 is unknown.
SAFELY = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


class Unavailable(Exception):
    """Something that the day needs can't be had here; the text names it."""


class Tools:
    """The pinned tools and sources, below `cache`."""

    def __init__(self, cache: Path, tests: Path):
        """`tests` is where `scripts/test-tools` links Node and npm."""
        self.cache = cache
        self.path = f"{tests}:{os.environ['PATH']}"
        self.modules = cache / "node_modules"
        self.python = cache / "python"
        self.sources = cache / "sources"

    def fetch(self):
        """Installs what is missing or pinned differently; raises `Unavailable`."""
        self.cache.mkdir(parents=True, exist_ok=True)
        self._once("node", HERE / "package-lock.json", self._node)
        self._once("python", HERE / "requirements.txt", self._python)
        pins = self.cache / "sources.pins"
        pins.write_text(f"structlog {STRUCTLOG}\nsemver {SEMVER}\n")
        self._once("sources", pins, self._sources)

    def _once(self, name, pinned, install):
        stamp = self.cache / f"{name}.stamp"
        if stamp.exists() and stamp.read_bytes() == pinned.read_bytes():
            return
        install()
        shutil.copyfile(pinned, stamp)

    def _node(self):
        shutil.rmtree(self.modules, ignore_errors=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(HERE / name, self.cache / name)
        self._install("the JavaScript tools", "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")

    def _python(self):
        shutil.rmtree(self.python, ignore_errors=True)
        self._install("Python's venv", "python3", "-m", "venv", self.python)
        pip = [self.python / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r"]
        self._install("the Python tools", *pip, HERE / "requirements.txt")

    def _sources(self):
        shutil.rmtree(self.sources, ignore_errors=True)
        self.sources.mkdir()
        pip = [self.python / "bin/pip", "download", "--quiet", "--no-deps", "--no-build-isolation", "--no-binary", ":all:"]
        self._install("structlog's sources", *pip, "-d", self.sources, f"structlog=={STRUCTLOG}")
        with tarfile.open(self.sources / f"structlog-{STRUCTLOG}.tar.gz") as archive:
            archive.extractall(self.sources, **SAFELY)
        manifest = self.sources / "vendor-me"
        (manifest / "src").mkdir(parents=True)
        (manifest / "src/lib.rs").write_text("")
        (manifest / "Cargo.toml").write_text(
            f'[package]\nname = "vendor-me"\nedition = "2021"\n[dependencies]\nsemver = "={SEMVER}"\n[workspace]\n'
        )
        self._install("semver's sources", "cargo", "vendor", "--quiet", "../vendor", cwd=manifest)

    def _install(self, what, *command, cwd=None):
        done = subprocess.run(
            [str(part) for part in command],
            cwd=cwd or self.cache,
            env={**os.environ, "PATH": self.path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise Unavailable(f"{what}: {(done.stderr or done.stdout).strip()[-400:]}")


def write(root: Path, name: str, text: str):
    """Writes a file below `root`, folders included."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def typescript_project(root: Path, tools: Tools):
    """zod's third generation: eslint, vitest, tsc and prettier."""
    source = tools.modules / "zod"
    shutil.copytree(source / "src/v3", root / "src", ignore=shutil.ignore_patterns("benchmarks", "language-server*"))
    shutil.copyfile(source / "LICENSE", root / "LICENSE")
    shutil.copyfile(source / "README.md", root / "README.md")
    scripts = {
        "test": "vitest run",
        "lint": "eslint .",
        "typecheck": "tsc --noEmit",
        "format:check": "prettier --check .",
        "format": "prettier --write .",
    }
    manifest = {"name": "zod-day", "version": "3.99.0", "type": "module", "license": "MIT", "scripts": scripts}
    write(root, "package.json", json.dumps(manifest, indent=2) + "\n")
    compiler = {"target": "es2022", "module": "nodenext", "strict": True, "noEmit": True, "skipLibCheck": True}
    write(
        root,
        "tsconfig.json",
        json.dumps({"compilerOptions": compiler, "include": ["src"], "exclude": ["src/tests"]}, indent=2) + "\n",
    )
    write(
        root,
        "eslint.config.js",
        'import parser from "typescript-eslint";\n\nexport default [\n  {\n    files: ["src/**/*.ts"],\n    ignores: ["src/tests/**"],\n'
        "    languageOptions: { parser: parser.parser },\n    linterOptions: { noInlineConfig: true },\n"
        '    rules: { "no-debugger": "error", "no-var": "error", "no-unused-labels": "error" },\n  },\n];\n',
    )
    write(
        root,
        "vitest.config.ts",
        'import { defineConfig } from "vitest/config";\n\nexport default defineConfig({ resolve: { alias: { "zod/v3": new URL("./src/index.ts", import.meta.url).pathname } }, test: { name: "zod", include: ["src/tests/{string,number,masking,tuple,enum}.test.ts"] } });\n',
    )
    write(root, ".prettierrc", '{ "singleQuote": true }\n')
    write(
        root,
        "cspell.json",
        '{ "version": "0.2", "ignorePaths": ["src", "README.md", "LICENSE", "node_modules", "package.json"] }\n',
    )
    _modules(root, tools)
    _repository(root)
    _green(root, tools, "node_modules/.bin/prettier", "--write", "--log-level", "warn", ".")
    _commit(root, "published sources")


def python_project(root: Path, tools: Tools):
    """structlog: ruff, mypy (`pretty`) and pytest in random order."""
    shutil.copytree(tools.sources / f"structlog-{STRUCTLOG}", root, dirs_exist_ok=True)
    twisted = ("tests/test_twisted.py", "src/structlog/twisted.py")
    _remove(root, *twisted, "tests/test_packaging.py", "tests/typing", "docs", "PKG-INFO")
    pyproject = root / "pyproject.toml"
    text = pyproject.read_text()
    text = text.replace('select = ["ALL"]', 'select = ["E7", "E9", "F", "B"]')
    text = text.replace('testpaths = "tests"', 'testpaths = "tests"\npythonpath = ["src"]')
    text = text.replace("warn_return_any = false", "warn_return_any = false\nwarn_unused_ignores = false")
    text = text.replace('module = "tests.typing.*"\nignore_errors = false', 'module = "structlog"\nignore_errors = true')
    pyproject.write_text(text)
    (root / ".venv").symlink_to(tools.python)
    _repository(root)
    _green(root, tools, ".venv/bin/ruff", "format", "--quiet", ".")
    _commit(root, "published sources")


def rust_project(root: Path, tools: Tools):
    """semver: cargo test, clippy and rustfmt."""
    shutil.copytree(tools.sources / "vendor/semver", root, dirs_exist_ok=True)
    _remove(root, ".cargo-checksum.json", "Cargo.toml.orig", "Cargo.lock", "tests/test_autotrait.rs", "benches")
    write(
        root,
        "Cargo.toml",
        '[package]\nname = "semver"\nversion = "1.0.26"\nedition = "2018"\nlicense = "MIT"\ndescription = "semver"\n'
        '[features]\ndefault = ["std"]\nstd = []\n[lints.rust]\nunexpected_cfgs = "allow"\n'
        '[lints.clippy]\nall = { level = "allow", priority = -1 }\nlen_zero = "deny"\n',
    )
    _repository(root)
    _green(root, tools, "cargo", "fmt")
    _commit(root, "published sources")


def monorepo(root: Path, tools: Tools):
    """npm workspaces around immer's sources, with a Python service beside them."""
    api = root / "packages/store"
    shutil.copytree(tools.modules / "immer/src", api / "src")
    write(
        api,
        "package.json",
        json.dumps({"name": "store", "version": "1.0.0", "type": "module", "scripts": {"test": "vitest run"}}, indent=2) + "\n",
    )
    write(api, "vitest.config.ts", 'export default { test: { include: ["test/**/*.test.ts"] } };\n')
    write(
        api,
        "test/produce.test.ts",
        'import { expect, test } from "vitest";\nimport { produce } from "../src/immer";\n\n'
        'test("keeps what did not change", () => {\n  const before = { a: { n: 1 }, b: { n: 2 } };\n'
        "  const after = produce(before, (draft) => {\n    draft.a.n = 3;\n  });\n"
        "  expect(after.b).toBe(before.b);\n  expect(after.a.n).toBe(3);\n});\n\n"
        'test("freezes its result", () => {\n  expect(Object.isFrozen(produce({ a: 1 }, (draft) => void (draft.a = 2)))).toBe(true);\n});\n',
    )
    write(root, "services/billing/billing/__init__.py", "")
    write(
        root,
        "services/billing/billing/rates.py",
        'def net(gross: int, rate: float) -> float:\n    """Price without tax."""\n    return gross / (1 + rate)\n',
    )
    write(
        root,
        "services/billing/tests/test_rates.py",
        "from billing.rates import net\n\n\ndef test_net():\n    assert net(150, 0.5) == 100\n\n\ndef test_nothing():\n    assert net(0, 0.5) == 0\n",
    )
    write(root, "services/billing/pyproject.toml", '[tool.pytest.ini_options]\npythonpath = ["."]\n')
    manifest = {"name": "mono", "private": True, "workspaces": ["packages/*"], "scripts": {"test": "npm test --workspaces"}}
    write(root, "package.json", json.dumps(manifest, indent=2) + "\n")
    write(root, "Makefile", "check:\n\tcd services/billing && pytest -q\n\tnpm test\n")
    _modules(root, tools)
    (root / ".venv").symlink_to(tools.python)
    _repository(root)
    _commit(root, "published sources")


def _remove(root, *names):
    for name in names:
        path = root / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _modules(root, tools):
    (root / "node_modules").symlink_to(tools.modules)


def _repository(root):
    write(root, ".gitignore", GITIGNORE.replace("node_modules\n", "node_modules\n.venv\n", 1))
    _git(root, "init", "--quiet", "--initial-branch=main")


def _commit(root, message):
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--message", message)


def _git(root, *arguments):
    who = {f"GIT_{role}_{what}": "dev@example.invalid" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *arguments], cwd=root, check=True, env={**os.environ, **who}, capture_output=True)


def _green(root, tools, *command):
    environment = {**os.environ, "PATH": tools.path}
    subprocess.run(command, cwd=root, check=True, env=environment, capture_output=True)
