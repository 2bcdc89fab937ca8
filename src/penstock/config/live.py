"""The current settings of a broker: some of them change while it runs."""

from penstock.config.broker import BrokerConfig


class LiveConfig:
    """The node's controller replaces `current`; all other parts call this when they need a setting."""

    __slots__ = ("current",)

    def __init__(self, config: BrokerConfig) -> None:
        self.current = config

    def __call__(self) -> BrokerConfig:
        return self.current
