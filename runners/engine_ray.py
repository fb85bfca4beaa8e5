"""Jobs as Ray tasks: the same code on one machine and on a cluster, with retries when a worker dies."""

from __future__ import annotations

import logging
import signal
import socket
import threading
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from orledger.errors import Note, UsageError
from orledger.runners.engines import THREAD_VARIABLES, Done, Failed, JobFunction, Resources, outcomes
from orledger.runners.ray_nodes import HeadLostError, HeadNode, Node, difference, here, require_alike

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orledger.runners.cells import Job

# How often a job is started again when the worker under it dies; an exception in a case is not retried.
RETRIES = 3
LOOK_SECONDS = 5.0  # the head is knocked at so often
KNOCK_SECONDS = 10.0


class RayEngine:
    """Starts Ray on this machine, or joins the cluster at ``resources.address``."""

    def run(self, jobs: Sequence[Job], fn: JobFunction, resources: Resources) -> Iterator[Done | Failed]:
        """The outcomes as jobs complete; at most twice as many jobs as CPUs are in flight, so that stopping is prompt.

        Nodes may go and come: a job whose node is gone is started again on another, and waits when there is none. Without
        the head nothing can be known about any job: then the run ends with HeadLostError, and the next one resumes.
        """
        ray = _import_ray()
        with _session(ray, resources) as head:
            gpus = int(resources.device == "cuda" and any(cell.gpu for job in jobs for cell in job.cells))
            _require_gpus(ray, gpus)
            if resources.address is not None:
                require_alike(ray, resources.data_dir)
            ours = here(None)
            compute = ray.remote(max_retries=RETRIES, retry_exceptions=False)(_compute)
            waiting: dict[Any, Job] = {}
            window = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
            queue = iter(jobs)
            alone = False
            try:
                while True:
                    while len(waiting) < window and (job := next(queue, None)) is not None:
                        needs = gpus if any(cell.gpu for cell in job.cells) else 0
                        waiting[compute.options(num_cpus=1, num_gpus=needs).remote(job, fn, ours)] = job
                    if not waiting:
                        return
                    ready, _ = ray.wait(list(waiting), num_returns=1, timeout=LOOK_SECONDS)
                    head.look(LOOK_SECONDS)  # also while results come: workers go on without a head, for a while
                    if not ready and not alone and not ray.cluster_resources().get("CPU"):
                        alone = True
                        warnings.warn(
                            "no node of the Ray cluster is left: the run waits until one joins", Note, stacklevel=2
                        )
                    for task in ready:
                        yield from _collected(ray, task, waiting.pop(task), head)
            except HeadLostError:
                waiting.clear()  # nobody is left who could cancel them
                raise
            finally:
                for task in waiting:
                    ray.cancel(task, force=True)


def _compute(job: Job, fn: JobFunction, ours: Node) -> list[Done | Failed] | tuple[str, str]:
    """The outcomes of ``job``, or what is wrong with this node: it may have joined after the others were asked."""
    problem = difference(ours, here(None), None)
    return list(outcomes(job, fn)) if problem is None else problem


def _collected(ray: Any, task: Any, job: Job, head: HeadNode) -> list[Done | Failed]:
    try:
        found: list[Done | Failed] | tuple[str, str] = ray.get(task)
    except ray.exceptions.RayError as error:
        head.require()  # a job that failed because the cluster is going away has not failed
        return [Failed(cell, f"Ray gave up on this job after {RETRIES} retries: {error}") for cell in job.cells]
    if isinstance(found, tuple):
        raise UsageError(f"a node that joined the Ray cluster {found[0]}", hint=found[1])
    return found


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise UsageError(
            "the engine ray needs the package ray", hint="pip install 'orledger[ray]', or --engine processes"
        ) from None
    return ray


def _require_gpus(ray: Any, gpus: int) -> None:
    have = int(ray.cluster_resources().get("GPU", 0))
    if gpus > have:
        raise UsageError(
            "the plan has jobs for a GPU, and the Ray cluster has none: they would wait for ever",
            hint="--device cpu, or a cluster with GPUs through --ray-address",
        )


def _knock(address: str) -> None:
    """Refuses an address at which nothing listens: Ray itself would try for minutes before it says so."""
    where = urlsplit(address if "://" in address else f"//{address}")
    try:
        host, port = where.hostname, where.port
    except ValueError as error:
        raise UsageError(f"{address} is no address of a Ray cluster: {error}", hint="host:port") from None
    if host is None or port is None:  # "auto" and the other words that Ray understands
        return
    try:
        socket.create_connection((host, port), timeout=KNOCK_SECONDS).close()
    except OSError as error:
        raise UsageError(
            f"no Ray cluster answers at {address}: {error}",
            hint="check the address that `ray start --head` printed, and that this machine may connect to it",
        ) from error


@contextmanager
def _session(ray: Any, resources: Resources) -> Iterator[HeadNode]:
    if ray.is_initialized():
        yield HeadNode(ray.get_runtime_context().gcs_address)
        return
    in_main = threading.current_thread() is threading.main_thread()
    handlers = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)} if in_main else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options: dict[str, Any] = {
            "runtime_env": {"env_vars": dict.fromkeys(THREAD_VARIABLES, str(resources.threads))},
            "logging_level": logging.ERROR,
            "log_to_driver": False,
        }
        if resources.address is None:
            # "local": a Ray of its own, also where another one runs on this machine or left its address behind.
            options |= {"address": "local", "num_cpus": resources.workers, "include_dashboard": False}
        else:
            _knock(resources.address)
            options["address"] = resources.address
        try:
            ray.init(**options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise UsageError(
                f"Ray could not be reached at {resources.address or 'this machine'}: {error}",
                hint="where the cluster asks for a token, set RAY_AUTH_TOKEN here to the token of its head",
            ) from error
    # Ray installs a handler that exits at once; stopping between two transactions is the driver's to decide.
    for number, handler in handlers.items():
        signal.signal(number, handler)
    try:
        yield HeadNode(ray.get_runtime_context().gcs_address)
    finally:
        ray.shutdown()
