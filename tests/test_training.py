import os
import signal
import threading
from concurrent.futures import Future

import pytest

from bn_memorization import training
from bn_memorization.errors import Failure
from bn_memorization.executors import FollowedExecutor


class ByHand(FollowedExecutor):
    """Calls end when the test says so."""

    def __init__(self, ahead: int):
        self.ahead = ahead
        self.calls: list[tuple[object, Future]] = []
        self.gone = False

    def check(self):
        if self.gone:
            raise Failure("gone")

    def take(self, item: object) -> Future:
        self.calls.append((item, Future()))
        return self.calls[-1][1]


def test_calls_go_out_in_order_and_few_at_a_time():
    pool, asked = ByHand(ahead=2), []

    def items():
        for item in range(5):
            asked.append(item)
            yield item

    following = training.follow(pool, pool.take, items(), threading.Event())
    threading.Timer(0.05, lambda: pool.calls[1][1].set_result("second")).start()
    item, future = next(following)
    assert (item, future.result()) == (1, "second")
    assert asked == [0, 1]
    pool.calls[0][1].set_exception(KeyError("first"))
    item, future = next(following)
    assert item == 0
    assert isinstance(future.exception(), KeyError)
    assert asked == [0, 1, 2]


def test_all_are_yielded_once_and_then_it_ends():
    pool = ByHand(ahead=3)

    def take(item):
        future = pool.take(item)
        future.set_result(item)
        return future

    found = training.follow(pool, take, iter("abcdefg"), threading.Event())
    assert sorted(item for item, _ in found) == list("abcdefg")


def test_a_call_that_the_pool_lost_is_submitted_again():
    pool = ByHand(ahead=1)

    def take(item):
        future = pool.take(item)
        if len(pool.calls) == 1:
            future.cancel()
        else:
            future.set_result("done")
        return future

    found = [(i, f.result()) for i, f in training.follow(pool, take, ["a"], threading.Event())]
    assert found == [("a", "done")]
    assert [item for item, _ in pool.calls] == ["a", "a"]


def test_once_stopped_what_is_at_work_is_yielded_and_the_rest_dropped(capsys):
    pool, stop = ByHand(ahead=3), threading.Event()
    following = training.follow(pool, pool.take, range(9), stop)
    threading.Timer(0.05, lambda: pool.calls[2][1].set_result(None)).start()
    assert next(following)[0] == 2
    pool.calls[0][1].set_running_or_notify_cancel()
    stop.set()
    threading.Timer(0.05, lambda: pool.calls[0][1].set_result(None)).start()
    assert [item for item, _ in following] == [0]
    assert pool.calls[1][1].cancelled()
    assert len(pool.calls) == 3
    assert "finished and kept" in capsys.readouterr().err


def test_a_pool_that_is_gone_is_told_and_not_waited_for():
    pool = ByHand(ahead=1)
    following = training.follow(pool, pool.take, [1, 2], threading.Event())
    threading.Timer(0.05, setattr, [pool, "gone", True]).start()
    with pytest.raises(Failure, match="gone"):
        next(following)


def interrupt_twice():
    with training.first_interrupt() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(5)
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(5)


def test_the_first_interrupt_is_an_event_and_the_second_interrupts():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupt_twice()
        assert signal.getsignal(signal.SIGINT) == signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_a_thread_there_is_no_interrupt():
    seen = []

    def enter():
        with training.first_interrupt() as stop:
            seen.append(stop.is_set())

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [False]
