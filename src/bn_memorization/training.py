"""Calls handed to one executor in order, and followed until each has ended."""

import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TypeVar

from tqdm import tqdm

from bn_memorization.executors import FollowedExecutor

T = TypeVar("T")
GLANCE_SECONDS = 0.5  # how soon Ctrl-C is noticed
_END = object()


def follow(
    pool: FollowedExecutor,
    submit: Callable[[T], Future],
    items: Iterable[T],
    stop: threading.Event,
) -> Iterator[tuple[T, Future]]:
    """Submit every item to the pool, in order, and yield each with its future as it ends.

    At most `pool.ahead` are submitted at a time, so that the list may be of any length. An item
    that the pool lost is submitted again. Once `stop` is set no more are submitted and those that
    have not begun are dropped; those at work are still yielded.
    """
    left, ended = deque(), SimpleQueue()
    more = iter(items)
    at_work: dict[Future, T] = {}
    told = False
    while True:
        pool.check()
        while not stop.is_set() and len(at_work) < pool.ahead:
            item = left.popleft() if left else next(more, _END)
            if item is _END:
                break
            future = submit(item)
            at_work[future] = item
            future.add_done_callback(ended.put)
        if stop.is_set() and not told:
            told = True
            tqdm.write("Stopping: models at work are finished and kept.", file=sys.stderr)
            pool.drop(list(at_work))
        if not at_work:
            return
        try:
            future = ended.get(timeout=GLANCE_SECONDS)
        except Empty:
            continue
        item = at_work.pop(future)
        if not future.cancelled():
            yield item, future
        else:
            left.append(item)


@contextmanager
def first_interrupt() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into an event, so that it comes between two steps and not amid one.

    A second one interrupts as usual. In another thread than the main one there is no Ctrl-C.
    """
    stop = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before == signal.SIG_IGN:
        yield stop
        return

    def note(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, before)
        stop.set()

    signal.signal(signal.SIGINT, note)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
