"""A clock whose sleeps return at once and are recorded."""


class TestClock:
    __test__ = False

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.slept_ms: list[float] = []

    def monotonic_ms(self) -> float:
        return self.now_ms

    def sleep(self, delay_ms: float) -> None:
        self.slept_ms.append(delay_ms)
        self.now_ms += delay_ms
