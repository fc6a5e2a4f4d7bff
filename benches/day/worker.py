"""A person or agent at a project: commands under verify-run in a pipe or on a terminal, edits, and reverts."""

import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from fcntl import ioctl
from pathlib import Path

COMMAND_SECONDS_MAX = 180


class Worker:
    """Runs commands in `root` with the cleared environment `environment`."""

    def __init__(self, root: Path, environment: dict, session: str):
        self.root = root
        self.environment = {**environment, "VERIFY_RUN_SESSION": session}
        self.commands = 0

    def run(self, line: str, exit_code: int):
        """Runs a shell line with both its streams in one pipe, as agents' shells do: what comes from two may come in any
        order. `exit_code` is what its author expects of it."""
        done = self._shell(line, stderr=subprocess.STDOUT)
        if done.returncode != exit_code:
            raise AssertionError(f"{line}: exit code {done.returncode} instead of {exit_code}\n{done.stdout}")
        return done.stdout

    def read(self, line: str) -> str:
        """Standard output of a command that has to succeed and is not part of the day."""
        done = self._shell(line)
        if done.returncode:
            raise AssertionError(f"{line}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def _shell(self, line, stderr=subprocess.PIPE):
        self.commands += 1
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            errors="replace",
            timeout=COMMAND_SECONDS_MAX,
        )
        self._settle()
        return done

    def terminal(self, line: str, keys=(), columns: int = 80, exit_code: int | None = None) -> str:
        """Runs `line` on a terminal; each of `keys` is (text to wait for, bytes to type)."""
        self.commands += 1
        child, screen = pty.fork()
        if child == 0:
            os.chdir(self.root)
            os.execve("/bin/bash", ["bash", "-c", f"exec {line}"], {**self.environment, "TERM": "xterm-256color"})
        ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        seen, waiting, deadline = b"", list(keys), time.monotonic() + COMMAND_SECONDS_MAX
        while time.monotonic() < deadline:
            if select.select([screen], [], [], 0.2)[0]:
                try:
                    chunk = os.read(screen, 65536)
                except OSError:
                    break
                if not chunk:
                    break
                seen += chunk
            if waiting and re.search(waiting[0][0].encode(), seen):
                os.write(screen, waiting.pop(0)[1])
                seen = b""
        else:
            os.kill(child, signal.SIGKILL)
            raise AssertionError(f"{line}: still running on its terminal, waiting for {waiting}\n{seen.decode(errors='replace')}")
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(screen)
        if exit_code is not None and code != exit_code:
            raise AssertionError(f"{line}: exit code {code} instead of {exit_code}\n{seen.decode(errors='replace')}")
        self._settle()
        return seen.decode(errors="replace")

    def _settle(self):
        """An edit never follows a result within milliseconds: waits until what was run is recorded."""
        command = ["verify-run", "store", "status"]
        subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True, timeout=COMMAND_SECONDS_MAX)

    def task(self, name: str):
        """Begins another task."""
        self.environment["VERIFY_RUN_TASK"] = name

    def edit(self, name: str, old: str, new: str):
        """Replaces the first `old` in a file by `new`."""
        path = self.root / name
        text = path.read_text()
        if old not in text:
            raise AssertionError(f"{name} has no {old!r}: the pinned sources have changed")
        path.write_text(text.replace(old, new, 1))

    def append(self, name: str, text: str):
        """Adds `text` at a file's end."""
        with open(self.root / name, "a") as file:
            file.write(text)

    def git(self, *arguments: str):
        """Runs git, which has to succeed."""
        command = ["git", "-c", "user.name=dev", "-c", "user.email=dev@example.invalid", *arguments]
        subprocess.run(command, cwd=self.root, env=self.environment, check=True, capture_output=True)
