"""What has to be true at the day's end, asked of verify-run itself and of the projects' own checks."""

import json
import re
import shlex
import shutil
from pathlib import Path

from story import Mistake
from worker import Worker

LESSON_FILES_MAX = 6
# The last is where a packager would publish the first.
LESSON_FOLDERS = (".lessons", "lessons", ".git/verify-run/lessons")
# In another file than the mistake: must be in no recipe.
UNRELATED_EDITS = ("Paths are arrays", "Captured calls are tuples", "Requirements are lists")

PRETTIER = ("", "--prose-wrap always --print-width 60 --tab-width 4", "--prose-wrap never --single-quote --use-tabs")
OWN_CHECKS = {
    "ts": [
        *(f"prettier --list-different {options} ." for options in PRETTIER),
        "markdownlint --dot '**/*.md' --ignore node_modules",
        "eslint .",
        "cspell --no-progress --dot '**'",
        "npm pack --dry-run --json",
    ],
    "py": [
        "ruff check . && ruff format --check .",
        "mypy src",
        "python -m build --sdist --no-isolation --outdir {out} . >/dev/null 2>&1 && tar tzf {out}/*.tar.gz | sort",
    ],
    "rs": ["cargo package --list --allow-dirty", "cargo fmt --check"],
    "mono": [f"prettier --list-different {options} ." for options in PRETTIER],
}


class Judge:
    """Collects judgements over all projects."""

    def __init__(self):
        self.failed = 0
        self.lessons = []

    def project(self, name: str, worker: Worker, roots: list[Path], mistakes: list[Mistake]):
        """Judges one project; `roots` are its work trees."""
        self._own_checks(name, worker, roots[0])
        self._lessons(name, roots, mistakes)
        patterns = json.loads(worker.read("verify-run pattern list --json --limit 500"))["patterns"]
        for mistake in mistakes:
            self._one_pattern(mistake, patterns)
        flakes = json.loads(worker.read("verify-run fix list --flakes --json"))["flakes"]
        self.say(not flakes, f"{name}: nothing is called a flake", json.dumps(flakes)[:300])
        self._fixes(name, worker, mistakes)

    def _own_checks(self, name, worker, root):
        out = root.parent / f"out-{name}"
        for check in OWN_CHECKS[name]:
            results = []
            for hidden in (False, True):
                shutil.rmtree(out, ignore_errors=True)
                out.mkdir()
                moved = [folder for folder in (root / ".lessons", root / "lessons") if folder.exists()] if hidden else []
                for folder in moved:
                    folder.rename(root.parent / f"moved-{folder.name}")
                done = worker._shell(check.replace("{out}", shlex.quote(str(out))))
                results.append((done.returncode, stable(done.stdout)))
                for folder in moved:
                    (root.parent / f"moved-{folder.name}").rename(folder)
            self.say(results[0] == results[1], f"{name}: `{check}` is the same without the lessons", difference(*results))

    def _lessons(self, name, roots, mistakes):
        files = sorted(file for root in roots for folder in LESSON_FOLDERS for file in (root / folder).glob("*.md"))
        texts = {file: file.read_text() for file in files}
        self.lessons += files
        kept = [mistake for mistake in mistakes if mistake.kept]
        for mistake in kept:
            about = [file.name for file, text in texts.items() if mistake.text in text]
            self.say(len(about) == 1, f"{name}: one lesson of {mistake.text!r} ({mistake.kept})", about)
        for file, text in texts.items():
            worth = any(mistake.text in text for mistake in kept)
            self.say(worth, f"{name}: {file.name} is worth keeping", text[:400])
            paths = re.findall(r"/(?:home|root|tmp|Users)/[^\s`]*", text)
            self.say(not paths, f"{name}: {file.name} names no absolute path", paths)

    def _one_pattern(self, mistake, patterns):
        found = [pattern for pattern in patterns if mistake.text in json.dumps(pattern)]
        names = [f"{pattern['tool']} {pattern['code']}: {pattern['title']}" for pattern in found]
        self.say(len(found) == 1, f"{mistake.project}: {mistake.text!r} is one pattern", names)

    def _fixes(self, name, worker, mistakes):
        shown = [
            json.loads(worker.read(f"verify-run fix show {fix['id']} --json"))
            for fix in json.loads(worker.read("verify-run fix list --json --limit 500"))["fixes"]
        ]
        recipes = [recipe for fix in shown for recipe in fix["recipes"]]
        wrong = [recipe["label"] for recipe in recipes if any(text in recipe["label"] for text in UNRELATED_EDITS)]
        self.say(not wrong, f"{name}: no recipe is an unrelated edit", wrong)
        for mistake in mistakes:
            of_it = [
                fix for fix in shown if mistake.text in json.dumps([step["fixed"] for step in fix["steps"] if "fixed" in step])
            ]
            labels = [recipe["label"] for fix in of_it for recipe in fix["recipes"] if recipe["kind"] == "files"]
            files = {file for label in labels for file in label.split(", ")}
            if mistake.fixed_by_edit:
                self.say(bool(of_it), f"{name}: the fix of {mistake.text!r} is known", [fix["summary"] for fix in shown])
                where = " and ".join(mistake.files)
                self.say(files <= set(mistake.files), f"{name}: {mistake.text!r} was fixed in {where}", sorted(files))
            else:
                learnt = [fix["gotchas"] or fix["recipes"] for fix in of_it if fix["gotchas"] or fix["recipes"]]
                self.say(not learnt, f"{name}: nothing is learnt from how {mistake.text!r} went away", json.dumps(learnt)[:300])

    def day(self, mistakes: int):
        """Judges what holds over all projects."""
        count = len(self.lessons)
        self.say(count <= LESSON_FILES_MAX, f"{count} lesson files of {mistakes} mistakes, at most {LESSON_FILES_MAX}", "")

    def say(self, holds: bool, judgement: str, otherwise):
        """Prints a judgement, and what was found where it doesn't hold."""
        print(f"{'  ok  ' if holds else 'FAILED'} {judgement}" + ("" if holds else f"\n         {otherwise}"), flush=True)
        self.failed += not holds

    def verdict(self) -> int:
        """The exit code."""
        print(f"{self.failed} judgements failed" if self.failed else "Every judgement holds.")
        return 1 if self.failed else 0


def stable(text: str) -> str:
    """Output without what changes from call to call: times and archive sizes."""
    return re.sub(r"\d+(\.\d+)? ?m?s\b|\"(shasum|integrity|size|unpackedSize)\": ?[^,\n]*", "", text)


def difference(first, second) -> str:
    """The lines that only one of two results has."""
    mine, other = (set(result[1].splitlines()) for result in (first, second))
    return f"exit codes {first[0]} and {second[0]}; with lessons: {sorted(mine - other)[:4]}; without: {sorted(other - mine)[:4]}"
