"""Work done in a fork of this process, so that what is imported here need not be imported again."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

GIGABYTES = 8
Tell = Callable[[Any], None]


def allow_cpu(seconds: float) -> None:
    """From now on this process may use ``seconds`` of processor time; the kernel ends it afterwards.

    Processor time and not the clock: a busy machine must not look like a fault that was noticed."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def _child(work: Callable[[Tell], None], pipe: int, log: str) -> None:
    code = 1
    try:
        os.setsid()
        faulthandler.disable()
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        resource.setrlimit(resource.RLIMIT_DATA, (GIGABYTES << 30, GIGABYTES << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        def tell(message: Any) -> None:
            os.write(pipe, (json.dumps(message) + "\n").encode())

        work(tell)
        code = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        sys.stdout.flush()
        os._exit(code)


def messages(work: Callable[[Tell], None], log: str, quiet_for: float) -> Iterator[Any]:
    """What ``work`` tells from its fork, one message after the other; the last is ``{"ended": how, "cpu": seconds}``.

    A fork that says nothing for ``quiet_for`` seconds of the clock is ended as "hung"; whatever it started ends with it."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _child(work, writing, log)
    os.close(writing)
    rest, hung, last = b"", False, time.monotonic()
    try:
        while not hung:
            if select.select([reading], [], [], 1.0)[0]:
                got = os.read(reading, 1 << 20)
                if not got:
                    break
                last, rest = time.monotonic(), rest + got
                *lines, rest = rest.split(b"\n")
                for line in lines:
                    yield json.loads(line)
            elif os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                break  # a process that it started may still hold the pipe
            else:
                hung = time.monotonic() - last > quiet_for
    except GeneratorExit:  # whoever listens has heard enough
        hung = True
        raise
    finally:
        os.close(reading)
        if hung:
            os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    ended = "hung" if hung else "ok" if status == 0 else f"status {status}"
    yield {"ended": ended, "cpu": usage.ru_utime + usage.ru_stime}
