"""A process that does task after task, so that a table of small fits is not all start-up."""

from __future__ import annotations

import atexit
import contextlib
import queue
import subprocess
import tempfile
import threading

from .processes import RivalFailed, TimeLimitExceeded, end, environment, tail

#: Seconds for a process to import what it needs; no limit of a fit counts them.
START = 300.0


class Servant:
    """A running command that takes the folders of tasks from its standard input.

    It says "ready" on its standard output, and "done" or "failed" after each task.
    """

    def __init__(self, command, threads):
        self._program = command[0]
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env=environment(threads),
            start_new_session=True,
        )
        self._answers = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.is_ready = False

    def _listen(self):
        with contextlib.suppress(ValueError):  # closed while it is read
            for line in self._process.stdout:
                self._answers.put(line.strip())
        self._answers.put("ended")

    def do(self, folder, limit):
        """What it writes to its standard error about a task, the end of it."""
        start = self._said.seek(0, 2)
        if not self.is_ready:
            self._expect("ready", START, 0)
            self.is_ready = True
        with contextlib.suppress(BrokenPipeError):  # it has ended, which it says as an answer too
            self._process.stdin.write(f"{folder}\n")
            self._process.stdin.flush()
        return self._expect("done", limit, start)

    def _expect(self, word, limit, start):
        """What it said from this place on, if its next answer is this word."""
        try:
            answer = self._answers.get(timeout=limit)
        except queue.Empty:
            raise TimeLimitExceeded(limit) from None
        self._said.seek(start)
        told = tail(self._said.read().decode(errors="replace"))
        if answer != word:
            raise RivalFailed(f"{self._program} {answer}: {told}")
        return told

    def is_running(self):
        return self._process.poll() is None

    def end(self):
        end(self._process)
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._said):
            with contextlib.suppress(OSError):  # what was not read is lost with the process
                file.close()


class Household:
    """A few servants, the one that was asked last at the end: a table asks each again and again."""

    #: As many as the methods of a table need; an idle one holds little memory.
    MOST = 10

    def __init__(self):
        self._servants = {}

    def run(self, command, limit, threads=None):
        """Do the task of the folder that is the last word of a command; see `processes.run`."""
        *command, folder = command
        key = (tuple(command), threads)
        servant = self._servants.pop(key, None)
        if servant is not None and not servant.is_running():
            servant.end()
            servant = None
        if servant is None:
            self._make_room()
            servant = Servant(command, threads)
        try:
            told = servant.do(folder, limit)
        except BaseException:  # Ctrl-C too: it is not to go on with the task
            servant.end()
            raise
        self._servants[key] = servant
        return told

    def _make_room(self):
        while len(self._servants) >= self.MOST:
            self._servants.pop(next(iter(self._servants))).end()

    def end(self):
        while self._servants:
            self._servants.popitem()[1].end()


HOUSEHOLD = Household()
atexit.register(HOUSEHOLD.end)
