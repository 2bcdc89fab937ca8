"""The election rules of topics, from settings and the health of brokers."""

from collections.abc import Callable

from penstock.cluster.controller.assignments import directory_of
from penstock.cluster.controller.inherited import inherited_values
from penstock.cluster.controller.partition_change import Election, Rules
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import ELIGIBLE_LEADER_REPLICAS_VERSION
from penstock.config.broker import BrokerConfig
from penstock.config.overrides import topic_config
from penstock.config.settings.topic import MIN_INSYNC_REPLICAS
from penstock.config.topic import TopicConfig


class ElectionRules:
    """The rules of each topic for one state of the image; `may_lead` decides which brokers may lead."""

    def __init__(
        self, image: MetadataImage, config: BrokerConfig, may_lead: Callable[[int], bool] | None = None
    ) -> None:
        self._image = image
        self._config = config
        self._may_lead = may_lead or image.may_lead
        self._may_stay = image.is_active if may_lead is None else may_lead
        self._has_elr = image.features.finalized.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0
        self._min_isr: int | None = None
        self._topics: dict[str, TopicConfig] = {}

    def of(self, topic: str, election: Election | None = None) -> Rules:
        """The rules of a topic; the default is the election that its settings allow."""
        config = self.config_of(topic)
        if election is None:
            is_unclean_allowed = config.unclean_leader_election_enable
            election = Election.UNCLEAN if is_unclean_allowed else Election.ONLINE
        return Rules(
            may_lead=self._may_lead,
            may_stay=self._may_stay,
            min_isr=self.min_isr_of(topic),
            has_elr=self._has_elr,
            election=election,
            directory_of=lambda broker_id: directory_of(self._image, broker_id),
            has_directory=self._image.has_directory,
        )

    def min_isr_of(self, topic: str) -> int:
        """The lowest `min.insync.replicas` that any leader of the topic may use."""
        if MIN_INSYNC_REPLICAS.name in self._image.topic_settings(topic):
            return self.config_of(topic).min_insync_replicas
        if self._min_isr is None:
            self._min_isr = min(inherited_values(self._image, self._config, MIN_INSYNC_REPLICAS))
        return self._min_isr

    def config_of(self, topic: str) -> TopicConfig:
        config = self._topics.get(topic)
        if config is None:
            settings = self._image.topic_settings(topic)
            config = self._topics[topic] = topic_config(self._config, settings)
        return config
