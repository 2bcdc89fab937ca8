from penstock.server.memory import FETCH_BYTES_MIN, STALLED_MS, UNSENT_BYTES_MAX, MemoryBudget

MIB = 1024 * 1024


class Holding:
    def __init__(self) -> None:
        self.is_given_up = False
        self.looks = 0
        self.unsent_bytes = 0

    def close_partial_frame(self) -> None:
        self.is_given_up = True

    def resume_if_room(self) -> None:
        self.looks += 1

    def unsent_bytes_now(self) -> int:
        return self.unsent_bytes

    def close_unread(self) -> None:
        self.is_given_up = True


def test_the_oldest_incomplete_frames_are_dropped_when_memory_is_short() -> None:
    memory = MemoryBudget(100)
    old, middle, young = Holding(), Holding(), Holding()
    memory.set_partial_frame(old, 40)
    memory.set_partial_frame(middle, 40)
    memory.set_partial_frame(young, 20)
    assert not old.is_given_up
    memory.set_partial_frame(young, 60)
    assert (old.is_given_up, middle.is_given_up, young.is_given_up) == (True, False, False)
    assert memory.receiving_bytes == 100


def test_a_single_frame_may_exceed_the_limit() -> None:
    memory = MemoryBudget(100)
    alone = Holding()
    memory.set_partial_frame(alone, 1000)
    assert not alone.is_given_up
    memory.clear_partial_frame(alone)
    assert memory.receiving_bytes == 0


def test_a_waiting_connection_is_notified_when_memory_is_free() -> None:
    memory = MemoryBudget(100)
    waiting = Holding()
    memory.in_flight_bytes += 150
    memory.wait_for_room(waiting)
    memory.release(40)
    assert waiting.looks == 0
    memory.release(40)
    assert waiting.looks == 1
    assert not memory.waiting


def test_a_closed_connection_is_not_notified_and_holds_no_memory() -> None:
    memory = MemoryBudget(100)
    gone = Holding()
    memory.set_partial_frame(gone, 50)
    memory.in_flight_bytes += 150
    memory.wait_for_room(gone)
    memory.remove(gone)
    memory.release(150)
    assert (gone.looks, memory.receiving_bytes) == (0, 0)


def slow_client(memory: MemoryBudget, unsent_bytes: int, now_ms: float) -> Holding:
    holder = Holding()
    holder.unsent_bytes = unsent_bytes
    memory.set_unsent(holder, unsent_bytes, now_ms)
    return holder


def test_a_fetch_always_gets_a_minimum() -> None:
    memory = MemoryBudget(10 * MIB)
    assert memory.fetch_bytes_max(0) == 10 * MIB
    slow_client(memory, 50 * MIB, 0)
    assert memory.fetch_bytes_max(0) == FETCH_BYTES_MIN


def test_a_fetch_gets_less_while_clients_leave_many_bytes_unread() -> None:
    memory = MemoryBudget(1024 * MIB)
    slow_client(memory, UNSENT_BYTES_MAX, 0)
    assert memory.fetch_bytes_max(0) == 1024 * MIB - UNSENT_BYTES_MAX
    slow_client(memory, 1, 0)
    assert memory.fetch_bytes_max(0) == FETCH_BYTES_MIN


def test_a_stalled_client_is_dropped_when_others_need_the_memory() -> None:
    memory = MemoryBudget(10 * MIB)
    stalled, slow, new = (slow_client(memory, 3 * MIB, now_ms) for now_ms in (0, 0, STALLED_MS))
    slow.unsent_bytes -= 1
    assert memory.fetch_bytes_max(STALLED_MS) == 4 * MIB + 1
    assert (stalled.is_given_up, slow.is_given_up, new.is_given_up) == (True, False, False)


def test_a_slow_client_that_makes_progress_is_not_dropped() -> None:
    memory = MemoryBudget(10 * MIB)
    slow = slow_client(memory, 9 * MIB, 0)
    for turn in range(10):
        slow.unsent_bytes -= 1
        memory.fetch_bytes_max(turn * (STALLED_MS - 1))
    assert not slow.is_given_up


def test_no_client_is_dropped_while_memory_is_free() -> None:
    memory = MemoryBudget(10 * MIB)
    stalled = slow_client(memory, 5 * MIB, 0)
    assert memory.fetch_bytes_max(100 * STALLED_MS) == 5 * MIB
    assert not stalled.is_given_up


def test_sent_bytes_are_released() -> None:
    memory = MemoryBudget(10 * MIB)
    slow = slow_client(memory, 4 * MIB, 0)
    memory.clear_unsent(slow)
    memory.clear_unsent(slow)
    assert memory.unsent_bytes == 0
