"""Settings that Kafka lists and that have no effect here: a client finds all of Kafka's names, types and defaults.

Taken from Kafka 4.3. A line is `name type default update`, and the least value where there is one; `-` stands for no
default, `""` for an empty one.
"""

from penstock.config.theme import Theme
from penstock.config.themes.compatibility import NO_PURGATORY, ONE_LOOP

THEME = Theme("Of Kafka only, without effect")

_SECURITY = "org.apache.kafka.common.security"
_REMOTE = "org.apache.kafka.server.log.remote.metadata.storage"
_ROWS = {
    "Tiered storage is not offered.": f"""
        follower.fetch.last.tiered.offset.enable boolean false cluster-wide
        remote.fetch.max.wait.ms int 500 cluster-wide 1
        remote.list.offsets.request.timeout.ms long 30000 cluster-wide 1
        remote.log.index.file.cache.total.size.bytes long 1073741824 cluster-wide 1
        remote.log.manager.copier.thread.pool.size int 10 cluster-wide 1
        remote.log.manager.copy.max.bytes.per.second long 9223372036854775807 cluster-wide 1
        remote.log.manager.copy.quota.window.num int 11 read-only 1
        remote.log.manager.copy.quota.window.size.seconds int 1 read-only 1
        remote.log.manager.expiration.thread.pool.size int 10 cluster-wide 1
        remote.log.manager.fetch.max.bytes.per.second long 9223372036854775807 cluster-wide 1
        remote.log.manager.fetch.quota.window.num int 11 read-only 1
        remote.log.manager.fetch.quota.window.size.seconds int 1 read-only 1
        remote.log.manager.follower.thread.pool.size int 2 cluster-wide 1
        remote.log.manager.task.interval.ms long 30000 read-only 1
        remote.log.manager.thread.pool.size int 2 read-only 1
        remote.log.metadata.custom.metadata.max.bytes int 128 read-only 0
        remote.log.metadata.manager.class.name string {_REMOTE}.TopicBasedRemoteLogMetadataManager read-only
        remote.log.metadata.manager.class.path string - read-only
        remote.log.metadata.manager.impl.prefix string rlmm.config. read-only
        remote.log.metadata.manager.listener.name string - read-only
        remote.log.reader.max.pending.tasks int 100 read-only 1
        remote.log.reader.threads int 10 cluster-wide 1
        remote.log.storage.manager.class.name string - read-only
        remote.log.storage.manager.class.path string - read-only
        remote.log.storage.manager.impl.prefix string rsm.config. read-only
    """,
    "Groups of Kafka Streams (KIP-1071) are not offered.": """
        group.streams.assignment.interval.ms int 1000 cluster-wide 0
        group.streams.heartbeat.interval.ms int 5000 read-only 1
        group.streams.initial.rebalance.delay.ms int 3000 read-only 0
        group.streams.max.assignment.interval.ms int 15000 read-only 0
        group.streams.max.heartbeat.interval.ms int 15000 read-only 1
        group.streams.max.session.timeout.ms int 60000 read-only 1
        group.streams.max.size int 2147483647 read-only 1
        group.streams.max.standby.replicas int 2 read-only 0
        group.streams.min.assignment.interval.ms int 0 read-only 0
        group.streams.min.heartbeat.interval.ms int 5000 read-only 1
        group.streams.min.session.timeout.ms int 45000 read-only 1
        group.streams.num.standby.replicas int 0 read-only 0
        group.streams.session.timeout.ms int 45000 read-only 1
    """,
    "Delegation tokens are not offered.": """
        delegation.token.expiry.check.interval.ms long 3600000 read-only 1
        delegation.token.expiry.time.ms long 86400000 read-only 1
        delegation.token.max.lifetime.ms long 604800000 read-only 1
        delegation.token.secret.key password - read-only
    """,
    "Kerberos is not offered.": """
        sasl.kerberos.kinit.cmd string /usr/bin/kinit per-broker
        sasl.kerberos.min.time.before.relogin long 60000 per-broker
        sasl.kerberos.principal.to.local.rules list DEFAULT per-broker
        sasl.kerberos.service.name string - per-broker
        sasl.kerberos.ticket.renew.jitter double 0.05 per-broker
        sasl.kerberos.ticket.renew.window.factor double 0.8 per-broker
    """,
    "A broker has one directory for its logs.": """
        alter.log.dirs.replication.quota.window.num int 11 read-only 1
        alter.log.dirs.replication.quota.window.size.seconds int 1 read-only 1
        cordoned.log.dirs list "" per-broker
        num.replica.alter.log.dirs.threads int - read-only
    """,
    "Java classes cannot be loaded.": f"""
        alter.config.policy.class.name class - read-only
        client.quota.callback.class class - read-only
        config.providers list "" cluster-wide
        create.topic.policy.class.name class - read-only
        kafka.metrics.polling.interval.secs int 10 read-only 1
        kafka.metrics.reporters list "" read-only
        principal.builder.class class {_SECURITY}.authenticator.DefaultKafkaPrincipalBuilder per-broker
        sasl.client.callback.handler.class class - read-only
        sasl.login.callback.handler.class class - read-only
        sasl.login.class class - read-only
        sasl.oauthbearer.jwt.retriever.class class {_SECURITY}.oauthbearer.DefaultJwtRetriever read-only
        sasl.oauthbearer.jwt.validator.class class {_SECURITY}.oauthbearer.DefaultJwtValidator read-only
        sasl.server.callback.handler.class class - read-only
        security.providers string - read-only
        ssl.engine.factory.class class - per-broker
    """,
    "Brokers do not log in to each other with tokens.": """
        sasl.login.connect.timeout.ms int - read-only
        sasl.login.read.timeout.ms int - read-only
        sasl.login.refresh.buffer.seconds short 300 per-broker
        sasl.login.refresh.min.period.seconds short 60 per-broker
        sasl.login.refresh.window.factor double 0.8 per-broker
        sasl.login.refresh.window.jitter double 0.05 per-broker
        sasl.login.retry.backoff.max.ms long 10000 read-only
        sasl.login.retry.backoff.ms long 100 read-only
        sasl.oauthbearer.assertion.algorithm string RS256 read-only
        sasl.oauthbearer.assertion.claim.aud string - read-only
        sasl.oauthbearer.assertion.claim.exp.seconds int 300 read-only 0
        sasl.oauthbearer.assertion.claim.iss string - read-only
        sasl.oauthbearer.assertion.claim.jti.include boolean false read-only
        sasl.oauthbearer.assertion.claim.nbf.seconds int 60 read-only 0
        sasl.oauthbearer.assertion.claim.sub string - read-only
        sasl.oauthbearer.assertion.file string - read-only
        sasl.oauthbearer.assertion.private.key.file string - read-only
        sasl.oauthbearer.assertion.private.key.passphrase password - read-only
        sasl.oauthbearer.assertion.template.file string - read-only
        sasl.oauthbearer.client.credentials.client.id string - read-only
        sasl.oauthbearer.client.credentials.client.secret password - read-only
        sasl.oauthbearer.scope string - read-only
        sasl.oauthbearer.token.endpoint.url string - read-only
    """,
    "Keys that cannot be fetched are fetched again after ten seconds.": """
        sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long 10000 read-only
        sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long 100 read-only
    """,
    "TLS comes from OpenSSL, not from Java.": """
        ssl.keymanager.algorithm string SunX509 per-broker
        ssl.provider string - per-broker
        ssl.secure.random.implementation string - per-broker
        ssl.trustmanager.algorithm string PKIX per-broker
    """,
    "The names in a new certificate are not compared with those in the old one.": """
        ssl.allow.dn.changes boolean false read-only
        ssl.allow.san.changes boolean false read-only
    """,
    ONE_LOOP: """
        group.coordinator.background.threads int 2 read-only 1
    """,
    NO_PURGATORY: """
        share.fetch.purgatory.purge.interval.requests int 1000 read-only
    """,
    "There is one assignor for share groups.": """
        group.share.assignors list simple read-only
    """,
    "Coordinators keep no buffers between writes.": """
        group.coordinator.cached.buffer.max.bytes int 1048588 cluster-wide 524288
        share.coordinator.cached.buffer.max.bytes int 1048588 cluster-wide 524288
    """,
    "Brokers do not repeat such a request: clients do.": """
        add.partitions.to.txn.retry.backoff.max.ms int 100 read-only 0
        add.partitions.to.txn.retry.backoff.ms int 20 read-only 1
    """,
    "A node joins when it is started with `--join`.": """
        controller.quorum.auto.join.enable boolean false read-only
    """,
    "How much of the metadata log is fetched at once is fixed.": """
        controller.quorum.fetch.max.bytes int 1048576 read-only 1
        controller.quorum.fetch.snapshot.max.bytes int 1048576 read-only 1
    """,
    "The time limits of connections to other brokers are fixed.": """
        socket.connection.setup.timeout.max.ms long 30000 read-only
        socket.connection.setup.timeout.ms long 10000 read-only
    """,
}
for _reason, _rows in _ROWS.items():
    THEME.ignored(_reason, _rows)

THEMES = (THEME,)
