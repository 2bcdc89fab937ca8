"""Settings found in many of Kafka's files that have no effect here: taken, so that such a file just works."""

from penstock.config.property import Live
from penstock.config.theme import Theme

THEME = Theme("Taken, without effect")

ONE_LOOP = "Penstock serves all connections on one event loop; several cores are used by several brokers."
NO_PURGATORY = "Waiting requests cost nothing here until they are due."

THEME.integer("num.network.threads", 3, ONE_LOOP, at_least=1, live=Live.CLUSTER_WIDE, ignored=True)
THEME.integer("num.io.threads", 8, ONE_LOOP, at_least=1, live=Live.CLUSTER_WIDE, ignored=True)
THEME.integer("background.threads", 10, ONE_LOOP, at_least=1, live=Live.CLUSTER_WIDE, ignored=True)
THEME.integer("group.coordinator.threads", 4, ONE_LOOP, at_least=1, ignored=True)
THEME.integer(
    "group.coordinator.append.linger.ms", -1, "Group commit gathers writes.", at_least=-1, ignored=True
)
THEME.integer("fetch.purgatory.purge.interval.requests", 1000, NO_PURGATORY, ignored=True)
THEME.integer("producer.purgatory.purge.interval.requests", 1000, NO_PURGATORY, ignored=True)
THEME.integer("delete.records.purgatory.purge.interval.requests", 1, NO_PURGATORY, ignored=True)
THEME.names(
    "metric.reporters", (), "Metrics are offered to Prometheus.", live=Live.CLUSTER_WIDE, ignored=True
)
THEME.integer("metrics.num.samples", 2, "Metrics are offered to Prometheus.", at_least=1, ignored=True)
THEME.long("metrics.sample.window.ms", 30_000, "Metrics are offered to Prometheus.", at_least=1, ignored=True)
THEME.string("metrics.recording.level", "INFO", "Metrics are offered to Prometheus.", ignored=True)
THEME.integer("controller.socket.timeout.ms", 30_000, "Of the ZooKeeper controller.", ignored=True)
THEME.boolean("remote.log.storage.system.enable", False, "Tiered storage is not offered.", ignored=True)
THEME.boolean("unstable.feature.versions.enable", False, "Only stable versions are offered.", ignored=True)

THEMES = (THEME,)
