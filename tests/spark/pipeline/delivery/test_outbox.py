"""Messages are delivered in order by a thread, whatever the receiver does."""

import threading

from penstock.spark.pipeline.delivery.outbox import Message, Outbox


def message(number: int) -> Message:
    return Message(key="k", body={"number": number})


def test_messages_arrive_in_order_and_close_waits_for_the_last() -> None:
    got: list[int] = []
    outbox = Outbox("a list", lambda each: got.append(each.body["number"]), got.append)  # type: ignore[arg-type]
    for number in range(50):
        outbox.put(message(number))
    outbox.close(30)
    assert got == list(range(50))


def test_a_receiver_that_is_down_is_reported_once_and_nothing_is_raised() -> None:
    errors: list[str] = []

    def refuse(_: Message) -> None:
        raise OSError("connection refused")

    outbox = Outbox("the webhook", refuse, errors.append)
    outbox.begin_close()
    for number in range(5):
        outbox.put(message(number))
    outbox.close(30)
    assert errors == ["cannot send to the webhook, the run continues: connection refused"]


def test_a_receiver_that_hangs_does_not_hold_up_the_end() -> None:
    release, entered = threading.Event(), threading.Event()

    def hang(_: Message) -> None:
        entered.set()
        release.wait()

    outbox = Outbox("the webhook", hang, lambda _: None)
    outbox.put(message(1))
    assert entered.wait(30)
    outbox.close(0.0)
    release.set()
