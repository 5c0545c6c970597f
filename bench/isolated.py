"""Asking the worker process, with a time limit; a worker that hangs or dies is replaced."""

from __future__ import annotations

import contextlib
import json
import pathlib
import selectors
import subprocess
import sys
from typing import Any

_WORKER = pathlib.Path(__file__).with_name("worker.py")


class Worker:
    """One measuring process at a time, started when first asked."""

    def __init__(self, corpus: str = "") -> None:
        self._corpus = corpus
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, limit: float, **request: Any) -> dict[str, Any]:
        """The worker's answer, or `{"error": …}` when it took longer than `limit` seconds or died."""
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(limit):
                self.stop()
                return {"error": f"over {limit:.0f} s"}
        line = process.stdout.readline()
        if not line:
            return {"error": f"the process died (exit status {self._close()})"}
        reply: dict[str, Any] = json.loads(line)
        return reply

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._close()

    def _close(self) -> int:
        """Let go of a process that has ended, its pipes included; returns its exit status."""
        assert self._process is not None
        process, self._process = self._process, None
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        return process.wait()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, str(_WORKER)] + ([self._corpus] if self._corpus else [])
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        return self._process
