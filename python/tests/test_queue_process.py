# SPDX-License-Identifier: Apache-2.0
"""Queues and barriers and the life of a process: Ctrl-C, exit, fork, sub-interpreters."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

LONG = 60
HEAD = """
import os, signal, sys, threading, time
import levada as lv
from levada import errors, train
queue = train.FIFOQueue(4, "int64", [()])
words = train.FIFOQueue(4, "string", [()])
barrier = train.Barrier("int64", [()])

def interrupt_when(condition):
    def body():
        while not condition():
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=body, daemon=True).start()

def main_waits():
    return any(row["thread"] == "MainThread" for row in train.waiters())
"""


def python(body, *, status=0):
    """Runs it in a process of its own; its output. It must end in time."""
    code = HEAD + textwrap.dedent(body)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code],
        timeout=LONG,
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    "call",
    [
        "queue.dequeue()",
        "queue.dequeue_many(4)",
        "queue.dequeue_up_to(4)",
        "queue.enqueue_many([range(50)])",
        "words.dequeue()",
        "words.dequeue_many(3)",
        "barrier.take_many(2)",
        "full.enqueue(5)",
        "full.close()",
        "feed()",
        "queue.dequeue(timeout=50)",
    ],
)
def test_ctrl_c_ends_every_waiting_call_and_loses_nothing(call):
    out = python(f"""
        full = train.FIFOQueue(1, "int64", [()])
        full.enqueue(1)
        feed = queue.enqueue_from(lv.range(100)) if {call!r} == "feed()" else None
        if "close" in {call!r}:
            threading.Thread(target=full.enqueue, args=(2,), daemon=True).start()
            while not train.waiters():
                time.sleep(0.001)
        if "dequeue_" in {call!r}:
            queue.enqueue_many([[1, 2]])
            words.enqueue_many([["a", "b"]])
        barrier.insert_many(0, ["a"], [1])
        interrupt_when(main_waits)
        try:
            {call}
            time.sleep({LONG})
        except KeyboardInterrupt as error:
            print("interrupted", getattr(error, "enqueued", "-"))
        print(queue.size(), words.size(), barrier.ready_size(), full.size())
        """)
    sizes = {
        "queue.dequeue_many(4)": "2 2 1 1",
        "queue.dequeue_up_to(4)": "2 2 1 1",
        "words.dequeue_many(3)": "2 2 1 1",
        "queue.enqueue_many([range(50)])": "4 0 1 1",
    }
    sizes["feed()"] = "4 0 1 1"
    told = "4" if "range(50)" in call or call == "feed()" else "-"
    assert out == ["interrupted", told, *sizes.get(call, "0 0 1 1").split()]


def test_an_exception_of_a_signal_handler_ends_a_wait():
    out = python("""
        class Alarm(Exception):
            pass

        def handler(*_):
            raise Alarm

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            queue.dequeue()
        except Alarm:
            print("alarm")
        queue.enqueue(1)
        print(queue.dequeue())
        """)
    assert out == ["alarm", "1"]


def test_a_handler_that_returns_does_not_end_a_wait():
    out = python("""
        signal.signal(signal.SIGALRM, lambda *_: queue.enqueue(5))
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        print(queue.dequeue())
        """)
    assert out == ["5"]


def test_an_exception_in_one_thread_leaves_the_others_alone():
    out = python("""
        def fails():
            queue.enqueue(1)
            raise RuntimeError("mine")

        raised = []
        threading.excepthook = raised.append
        thread = threading.Thread(target=fails)
        thread.start()
        print(queue.dequeue())
        thread.join()
        print(len(raised))
        """)
    assert out == ["1", "1"]


def test_a_process_ends_while_daemon_threads_wait():
    python("""
        full = train.FIFOQueue(1, "string", [()])
        calls = (queue.dequeue, lambda: queue.dequeue_many(9), words.dequeue,
                 lambda: full.enqueue_many([["x"] * 9]), lambda: barrier.take_many(1),
                 lambda: words.dequeue(timeout=30))
        for call in calls * 3:
            threading.Thread(target=call, daemon=True).start()
        while len(train.waiters()) < 15:
            time.sleep(0.001)
        """)


def test_a_process_ends_while_daemon_threads_are_busy_in_queues():
    python("""
        def loop():
            while True:
                queue.enqueue(1)
                queue.dequeue()
                words.enqueue("a")
                words.dequeue()

        for _ in range(4):
            threading.Thread(target=loop, daemon=True).start()
        time.sleep(0.2)
        """)


def test_objects_may_outlive_the_modules():
    python("""
        class Holder:
            def __init__(self):
                self.queue = queue
            def __del__(self):
                self.queue.enqueue(1, timeout=0)

        sys.holder = Holder()
        """)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

FORK = """
def in_child(body):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 3
        try:
            signal.alarm(30)
            body()
            status = 0
        except BaseException as error:
            print(type(error).__name__, error, file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    print("child", os.waitstatus_to_exitcode(status))
"""


@needs_fork
def test_a_child_of_a_fork_is_told_that_queues_are_the_parents():
    out = python(
        FORK
        + textwrap.dedent("""
        kept = train.FIFOQueue(4, "int64", [()], shared_name="s")
        for call in (queue.dequeue, lambda: queue.dequeue_many(9), lambda: barrier.take_many(1)):
            threading.Thread(target=call, daemon=True).start()
        while len(train.waiters()) < 3:
            time.sleep(0.001)

        def body():
            global queue, barrier
            calls = (lambda: queue.enqueue(1), queue.dequeue, lambda: queue.enqueue_many([[1]]),
                     lambda: queue.dequeue_many(1), queue.size, queue.is_closed, queue.cancel,
                     queue.close, lambda: queue.close(True), barrier.ready_size,
                     lambda: barrier.take_many(1), lambda: barrier.insert_many(0, ["a"], [1]),
                     barrier.close, barrier.incomplete_size, barrier.cancel)
            for call in calls:
                try:
                    call()
                    raise AssertionError("no error")
                except errors.FailedPreconditionError as error:
                    assert "belongs to the parent process: make one after the fork" in str(error)
            assert train.waiters() == []
            del queue, barrier
            fresh = train.FIFOQueue(4, "int64", [()], shared_name="s")
            fresh.enqueue(7)
            call = threading.Thread(target=fresh.dequeue_many, args=(2,), daemon=True)
            call.start()
            while not train.waiters():
                time.sleep(0.001)
            fresh.enqueue(8)
            call.join()
            assert fresh.size() == 0

        in_child(body)
        queue.enqueue(1)
        while queue.size():
            time.sleep(0.001)
        print("parent")
        """)
    )
    assert out == ["child", "0", "parent"]


@needs_fork
def test_children_of_children_have_queues_of_their_own():
    out = python(
        FORK
        + textwrap.dedent("""
        def grandchild(given):
            try:
                given.size()
                raise AssertionError("no error")
            except errors.FailedPreconditionError:
                pass
            train.FIFOQueue(1, "int64", [()]).enqueue(1)

        def child():
            mine = train.FIFOQueue(1, "int64", [()])
            mine.enqueue(1)
            in_child(lambda: grandchild(mine))
            assert mine.dequeue() == 1

        in_child(child)
        """)
    )
    assert out[-2:] == ["child", "0"]


@needs_fork
def test_a_batcher_made_before_a_fork_runs_in_the_child():
    out = python(
        FORK
        + textwrap.dedent("""
        stream = train.batch(iter(range(4)), 2)
        threading.Thread(target=stream.queue.dequeue, daemon=True).start()
        while not train.waiters():
            time.sleep(0.001)

        def body():
            threads = stream.queue_runners[0].create_threads(start=True)
            assert [batch.tolist() for batch in stream] == [[0, 1], [2, 3]]

        in_child(body)
        """)
    )
    assert out == ["child", "0"]


@needs_fork
def test_readers_that_waited_at_a_fork_work_in_the_child(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x\n")
    out = python(
        FORK
        + textwrap.dedent(f"""
        makers = (train.TextLineReader, train.WholeFileReader, train.IdentityReader,
                  lambda: train.FixedLengthRecordReader(2))
        readers = [make() for make in makers]
        for reader in readers:
            threading.Thread(target=reader.read, args=(words,), daemon=True).start()
        while len(train.waiters()) < len(readers):
            time.sleep(0.001)

        def body():
            for reader in readers:
                names = train.FIFOQueue(1, "string", [()])
                names.enqueue({str(path)!r})
                reader.read(names)
                reader.reset()

        in_child(body)
        """)
    )
    assert out == ["child", "0"]


@needs_fork
def test_no_lock_that_is_held_at_a_fork_is_held_in_the_child():
    """The short ones too: here the parent's thread holds it for as long as it takes to fork."""
    out = python(
        FORK
        + textwrap.dedent("""
        made = train.batch([1], 1).queue_runners[0]
        made._lock.acquire()

        def body():  # in another thread: one that holds an RLock has it anyway
            got = []
            thread = threading.Thread(target=lambda: got.append(made._lock.acquire(timeout=5)))
            thread.start()
            thread.join()
            assert got == [True]

        in_child(body)
        """)
    )
    assert out == ["child", "0"]


def test_a_sub_interpreter_is_refused_clearly():
    interpreters = pytest.importorskip("_xxsubinterpreters")
    sub = interpreters.create()
    try:
        interpreters.run_string(
            sub,
            textwrap.dedent(f"""
            import sys
            sys.path[:0] = {sys.path!r}
            try:
                import levada
            except ImportError as error:
                assert "interpreter" in str(error), error
            else:
                raise AssertionError("no error")
            """),
        )
    finally:
        interpreters.destroy(sub)


@pytest.mark.parametrize("kind", ["numbers", "tensors"])
def test_a_consumer_that_is_interrupted_again_and_again_sees_every_element_once(kind):
    out = python(f"""
        import random
        rows = {kind!r} == "numbers"
        many = (train.FIFOQueue(7, "int64", [()]) if rows
                else train.PaddingFIFOQueue(7, ["string"], [(None,)]))

        def produce():
            for i in range(0, 1500, 3):
                part = [i, i + 1, i + 2]
                many.enqueue_many([part if rows else [[str(n)] for n in part]])
                time.sleep(0.0002)
            many.close()

        class Stop(Exception):
            pass

        def handler(*_):
            if armed:
                raise Stop

        def interrupt():
            while not done.wait(random.random() * 0.002):
                if main_waits():
                    os.kill(os.getpid(), signal.SIGUSR1)

        def take(out):
            armed.append(1)
            try:
                out.append(many.dequeue_up_to(random.randint(1, 9)))
            finally:
                armed.clear()

        armed, found, stops, done = [], [], 0, threading.Event()
        signal.signal(signal.SIGUSR1, handler)
        threads = [threading.Thread(target=body, daemon=True) for body in (produce, interrupt)]
        for thread in threads:
            thread.start()
        while True:
            out = []
            try:
                take(out)
            except Stop:
                stops += 1
            except errors.OutOfRangeError:
                break
            for batch in out:
                found += [int(n) for n in batch.ravel().tolist()]
        done.set()
        for thread in threads:
            thread.join()
        print(len(found), found == sorted(set(found)), stops > 0)
        """)
    # Between the return of a call and the next statement Python itself may drop a value.
    assert int(out[0]) > 1500 - 3 * 9
    assert out[1:] == ["True", "True"]


def test_a_process_that_is_killed_by_ctrl_c_says_so():
    done = subprocess.Popen(
        [sys.executable, "-c", HEAD + "print(1, flush=True); queue.dequeue()"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    done.stdout.readline()
    done.send_signal(signal.SIGINT)
    _, err = done.communicate(timeout=LONG)
    assert done.returncode == -signal.SIGINT and "KeyboardInterrupt" in err


@needs_fork
def test_a_coordinator_of_the_parent_has_stopped_in_the_child():
    """Nobody would request the stop there, so loops end."""
    out = python(
        FORK
        + textwrap.dedent("""
        coord = train.Coordinator()
        threading.Thread(target=coord.join, args=([threading.main_thread()],), daemon=True).start()
        while not train.waiters():
            time.sleep(0.001)

        def body():
            assert coord.should_stop()
            assert coord.wait_for_stop(0.01)
            for call in (coord.request_stop, coord.join):
                try:
                    call()
                except lv.errors.FailedPreconditionError:
                    continue
                raise AssertionError(call)

        in_child(body)
        assert not coord.should_stop()
        """)
    )
    assert out == ["child", "0"]
