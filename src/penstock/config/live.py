"""The settings of a broker as they are now: some of them change while it runs."""

from penstock.config.broker import BrokerConfig


class LiveConfig:
    """The controller of the node replaces `current`; all others call it whenever they need a setting."""

    __slots__ = ("current",)

    def __init__(self, config: BrokerConfig) -> None:
        self.current = config

    def __call__(self) -> BrokerConfig:
        return self.current
