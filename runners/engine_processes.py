"""Worker processes on this machine: spawned, never forked, with one job at a time and a pipe each.

The standard pool gives up as a whole when one worker dies. Here a dead worker costs its own job: the cells it had not
reported yet are failed, and another worker takes its place.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from orledger.errors import OrledgerError
from orledger.runners.engines import Done, Failed, JobFunction, Resources, outcomes, thread_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.context import SpawnProcess

    from orledger.runners.cells import Cell, Job

READY = "ready"


class ProcessesEngine:
    """As many workers as asked for and useful."""

    def run(self, jobs: Sequence[Job], fn: JobFunction, resources: Resources) -> Iterator[Done | Failed]:
        """The outcomes as they arrive; a cell is reported as soon as it is computed, before its job is."""
        # Jobs of many cells first, otherwise as planned: a long job that begins last would end alone.
        queue = deque(sorted(jobs, key=lambda job: len(job.cells), reverse=True))
        workers = [_Worker(fn, resources.threads) for _ in range(min(resources.workers, len(queue)))]
        try:
            while workers:
                by_pipe = {worker.pipe: worker for worker in workers}
                for pipe in wait(list(by_pipe)):
                    worker = by_pipe[pipe]  # type: ignore[index]
                    try:
                        message = worker.pipe.recv()
                    except (EOFError, ConnectionError):
                        yield from worker.failures()
                        workers.remove(worker)
                        if queue:
                            workers.append(_Worker(fn, resources.threads))
                        continue
                    if message != READY:
                        worker.left.pop(message.cell.id)
                        yield message
                    elif queue:
                        worker.give(queue.popleft())
                    else:
                        worker.finish()
                        workers.remove(worker)
        finally:
            for worker in workers:
                worker.kill()


class _Worker:
    """The parent's end of one worker: its process, its pipe, and the cells it still owes."""

    def __init__(self, fn: JobFunction, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=_work, args=(theirs, fn), daemon=True)
        self.left: dict[str, Cell] = {}
        self.started = False
        # Ctrl-C reaches the whole process group; it is the parent's to handle.
        with thread_environment(threads), _ignoring_interrupts():
            self.process.start()
        theirs.close()

    def give(self, job: Job) -> None:
        self.started = True
        self.left = {cell.id: cell for cell in job.cells}
        self.pipe.send(job)

    def finish(self) -> None:
        self.pipe.send(None)
        self.process.join()
        self.pipe.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def failures(self) -> Iterator[Failed]:
        """The cells owed by a worker that died, with what is known of its death."""
        self.process.join()
        code = self.process.exitcode or 0
        how = f"by signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"with exit code {code}"
        self.pipe.close()
        if not self.started:
            raise OrledgerError(
                f"a worker process ended {how} before its first job",
                hint="--engine serial shows the error in full",
            )
        memory = "; the system ends processes this way when memory runs out" if code == -signal.SIGKILL else ""
        for cell in self.left.values():
            yield Failed(cell, f"worker process {self.process.pid} ended {how} while it computed this job{memory}")


def _work(pipe: Connection, fn: JobFunction) -> None:
    """What a worker does: a job from the pipe, its cells into the pipe, until it is told to stop or its parent is gone."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            pipe.send(READY)
            job = pipe.recv()
            if job is None:
                return
            for outcome in outcomes(job, fn):
                try:
                    pipe.send(outcome)
                except (TypeError, AttributeError, ValueError):
                    pipe.send(Failed(outcome.cell, f"the result could not be sent:\n{traceback.format_exc()}"))
        except (EOFError, ConnectionError):
            return


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """While inside, a new process inherits that SIGINT is ignored; outside the main thread nothing can be changed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
