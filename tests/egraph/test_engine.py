"""The worker may die, hang or refuse; its caller gets an error and goes on."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from rewrite.egraph.saturate.engine import Engine, EngineError

COUNT = "(function Count (i64) i64 :no-merge)(set (Count 1) 7)"


@pytest.fixture
def engine():
    e = Engine()
    yield e
    e.close()


def count(engine: Engine) -> int:
    with engine.session([("count.egg", COUNT)]) as s:
        ((_, n),) = s.tables(["Count"])["Count"]
    return n


@pytest.mark.parametrize("pause", [0.0, 0.2])  # seen dying, or found dead
def test_a_killed_worker_is_an_error_and_the_next_use_starts_another(
    engine: Engine, pause: float
) -> None:
    with engine.session([("count.egg", COUNT)]) as s:
        first = engine.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        time.sleep(pause)
        with pytest.raises(EngineError, match="SIGKILL"):
            s.sizes()
        with pytest.raises(EngineError, match="open another session"):
            s.sizes()
    assert count(engine) == 7
    assert engine.pid != first


def test_a_worker_that_was_begun_is_the_one_that_answers(engine: Engine) -> None:
    engine.begin()
    first = engine.pid
    engine.begin()
    assert first is not None and count(engine) == 7 and engine.pid == first


def test_nothing_begins_while_a_thread_is_in_the_engine(engine: Engine) -> None:
    with engine.session([("count.egg", COUNT)]) as s:
        beside = threading.Thread(target=engine.begin)
        beside.start()
        beside.join(10)
        assert not beside.is_alive() and s.sizes()["Count"] == 1


def test_what_keeps_a_worker_from_beginning_is_told_to_who_asks(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    engine.begin()
    assert engine.pid is None
    with pytest.raises(EngineError, match="pip install"):
        count(engine)


def test_a_worker_killed_while_idle_costs_nothing(engine: Engine) -> None:
    assert count(engine) == 7
    assert engine.pid is not None
    os.kill(engine.pid, signal.SIGKILL)
    time.sleep(0.2)
    assert count(engine) == 7


def test_what_is_read_on_top_of_loaded_files_leaves_nothing(engine: Engine) -> None:
    base, more = ("count.egg", COUNT), ("more.egg", "(set (Count 2) 9)")

    def rows(*files: tuple[str, str]) -> set[tuple[object, ...]]:
        with engine.session(files) as s:
            return set(s.tables(["Count"])["Count"])

    assert rows(base) == {(1, 7)}
    for files in ([base, more], [base, more], [base], [base, more], [base]):
        assert rows(*files) == {(1, 7)} | ({(2, 9)} if more in files else set())
    wrong = ("wrong.egg", "(set (Count 3) 1)(rewrite (Foo x) x)")
    with pytest.raises(EngineError, match=r"^wrong\.egg:1:"):
        rows(base, wrong)
    assert rows(base) == {(1, 7)}


def test_errors_name_file_and_place(engine: Engine) -> None:
    bad = "\n(rewrite (Foo x) x)"
    place = pytest.raises(EngineError, match=r"^mine\.egg:2:10: \(Foo x\): Unb")
    with place, engine.session([("mine.egg", bad)]):
        pass
    assert count(engine) == 7


def test_after_an_error_the_graph_is_not_reused(engine: Engine) -> None:
    files = [("count.egg", COUNT)]
    with engine.session(files) as s:
        with pytest.raises(EngineError):
            s.run("(set (Count 2) 3) (set (Count 2) 4)")
        with pytest.raises(EngineError, match="'sizes' came after an error"):
            s.sizes()
    with engine.session(files) as s:
        assert s.tables(["Count"]) == {"Count": [(1, 7)]}


def test_sessions_start_clean(engine: Engine) -> None:
    files = [("count.egg", COUNT)]
    for _ in range(3):
        with engine.session(files) as s:
            s.run("(set (Count 2) 3)")
            assert s.sizes()["Count"] == 2


def test_a_time_out_stops_the_worker(engine: Engine) -> None:
    endless = (
        "(datatype N (Z) (S N)) (ruleset up)"
        '(rule ((= e (S n))) ((S (S n))) :ruleset up :name "up") (S (Z))'
    )
    start = time.monotonic()
    late = pytest.raises(EngineError, match=r"no answer to 'run' in 0\.5 s")
    with late, engine.session([("up.egg", endless)], timeout=0.5) as s:
        s.run("(run-schedule (saturate (run up)))")
    assert time.monotonic() - start < 10
    assert count(engine) == 7


def test_memory_is_limited() -> None:
    engine = Engine(memory=250 << 20)
    square = (
        "(relation R (i64 i64)) (ruleset up)"
        '(rule ((R a b) (R c d)) ((R (+ a c) (* 7 (+ b d)))) :ruleset up :name "up")'
        "(R 1 2) (R 3 5) (R 11 13)"
    )
    try:
        files = [("up.egg", square)]
        with pytest.raises(EngineError), engine.session(files, timeout=60) as s:
            s.run("(run-schedule (repeat 30 (run up)))")
        assert count(engine) == 7
    finally:
        engine.close()


def test_two_threads_take_turns(engine: Engine) -> None:
    found: list[int] = []

    def work(k: int) -> None:
        for _ in range(5):
            with engine.session([("count.egg", COUNT)]) as s:
                s.run(f"(set (Count 2) {k})")
                found.extend(n for i, n in s.tables(["Count"])["Count"] if i == 2)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(found) == sorted([*range(4)] * 5)


def test_a_forked_child_uses_its_own_worker_and_leaves_the_parents() -> None:
    script = """
import os
from rewrite.egraph.saturate.engine import shared
def ask():
    text = "(function C (i64) i64 :no-merge)(set (C 1) 7)"
    with shared().session([("c", text)]) as s:
        return s.tables(["C"])["C"], shared().pid
_, mine = ask()
child = os.fork()
if child == 0:
    rows, theirs = ask()
    raise SystemExit(0 if rows == [(1, 7)] and theirs != mine else 1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0
assert ask() == ([(1, 7)], mine)
os.kill(mine, 0)
print(mine)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    with pytest.raises(ProcessLookupError):  # gone with the process that started it
        os.kill(int(done.stdout), 0)


def test_the_users_own_egglog_is_not_disturbed() -> None:
    script = """
import sys
from rewrite.egraph.saturate.engine import shared
with shared().session([]) as s:
    s.sizes()
assert not any(m == "egglog" or m.startswith("egglog.") for m in sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_suspended_worker_is_an_error_even_while_it_is_written_to(
    engine: Engine,
) -> None:
    assert count(engine) == 7
    assert engine.pid is not None
    os.kill(engine.pid, signal.SIGSTOP)
    many = "(Count 1)\n" * 100_000  # more than any pipe holds
    start = time.monotonic()
    late = pytest.raises(EngineError, match=r"did not take the \d+ bytes of 'load'")
    with late, engine.session([("many.egg", COUNT + many)], timeout=0.3):
        pass
    assert time.monotonic() - start < 5
    assert engine.pid is None
    assert count(engine) == 7


def test_a_suspended_worker_is_told_to_go_on(engine: Engine) -> None:
    assert count(engine) == 7
    assert engine.pid is not None
    before = engine.pid
    os.kill(before, signal.SIGSTOP)
    start = time.monotonic()
    assert count(engine) == 7
    assert time.monotonic() - start < 10
    assert engine.pid == before


def test_what_the_worker_says_of_its_death_is_told(engine: Engine) -> None:
    deep = f"(datatype N (Z) (S N)){'(S ' * 100_000}(Z){')' * 100_000}"
    dead = pytest.raises(EngineError, match=r"ended \(SIG\w+\) in 'load'")
    with dead, engine.session([("deep.egg", deep)]):
        pass
    assert count(engine) == 7


FORKED = f"""
import os, threading
from rewrite.egraph.saturate.engine import Engine, shared

other, inside, done = Engine(), threading.Event(), threading.Event()

def work(engine):
    with engine.session([("count.egg", {COUNT!r})]) as s:
        inside.set()
        done.wait()
        assert s.sizes() == {{"Count": 1}}

for engine in (shared(), other):
    inside.clear(), done.clear()
    thread = threading.Thread(target=work, args=(engine,))
    thread.start()
    inside.wait()
    child = os.fork()
    if not child:
        for mine in (shared(), other):
            with mine.session([("count.egg", {COUNT!r})]) as s:
                assert s.sizes() == {{"Count": 1}}
            mine.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    done.set()
    thread.join()
    assert engine.pid is not None
with shared().session([]) as s:
    first = shared().pid
    child = os.fork()
    if not child:  # a session does not go with the child
        try:
            s.sizes()
        except RuntimeError as e:
            os._exit("forked" not in str(e))
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert s.sizes() == {{}} and shared().pid == first
"""


def test_a_fork_while_a_thread_is_in_the_engine_does_not_wait() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
