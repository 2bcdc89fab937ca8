from penstock.server.memory import MemoryBudget


class Holding:
    def __init__(self) -> None:
        self.is_given_up = False
        self.looks = 0

    def give_up_frame(self) -> None:
        self.is_given_up = True

    def look_for_room(self) -> None:
        self.looks += 1


def test_frames_begun_first_go_when_others_need_the_room() -> None:
    memory = MemoryBudget(100)
    old, middle, young = Holding(), Holding(), Holding()
    memory.receive(old, 40)
    memory.receive(middle, 40)
    memory.receive(young, 20)
    assert not old.is_given_up
    memory.receive(young, 60)
    assert (old.is_given_up, middle.is_given_up, young.is_given_up) == (True, False, False)
    assert memory.receiving_bytes == 100


def test_a_frame_alone_may_be_larger_than_the_room() -> None:
    memory = MemoryBudget(100)
    alone = Holding()
    memory.receive(alone, 1000)
    assert not alone.is_given_up
    memory.received(alone)
    assert memory.receiving_bytes == 0


def test_who_found_no_room_hears_when_there_is_some() -> None:
    memory = MemoryBudget(100)
    waiting = Holding()
    memory.in_flight_bytes += 150
    assert not memory.has_room_for(waiting)
    memory.release(40)
    assert waiting.looks == 0
    memory.release(40)
    assert waiting.looks == 1
    assert memory.has_room_for(waiting)


def test_who_is_gone_hears_nothing_and_holds_nothing() -> None:
    memory = MemoryBudget(100)
    gone = Holding()
    memory.receive(gone, 50)
    memory.in_flight_bytes += 150
    assert not memory.has_room_for(gone)
    memory.forget(gone)
    memory.release(150)
    assert (gone.looks, memory.receiving_bytes) == (0, 0)


def test_a_fetch_is_always_given_something() -> None:
    memory = MemoryBudget(100)
    assert memory.left_for_answers == 100
    memory.unsent_bytes = 500
    assert memory.left_for_answers == 1
