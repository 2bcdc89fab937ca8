from penstock.runtime.observers import Observers


def test_all_observers_are_notified_in_the_order_in_which_they_subscribed() -> None:
    observers: Observers[int, str] = Observers()
    noted: list[str] = []
    observers.subscribe(lambda number, text: noted.append(f"first {number} {text}"))
    observers.subscribe(lambda number, text: noted.append(f"second {number} {text}"))
    observers.notify(1, "a")
    observers.notify(2, "b")
    assert noted == ["first 1 a", "second 1 a", "first 2 b", "second 2 b"]


def test_an_event_without_observers_is_dropped() -> None:
    observers: Observers[()] = Observers()
    observers.notify()
    noted: list[bool] = []
    observers.subscribe(lambda: noted.append(True))
    assert noted == []
