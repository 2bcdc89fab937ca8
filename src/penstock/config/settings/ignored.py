"""Kafka's settings without effect here: clients find all of Kafka's names, types and defaults, and its files work.

Taken from Kafka 4.3. A line is `name type default update`, and the least value where there is one; `-` stands for no
default, `""` for an empty one.
"""

from penstock.config.section import Section

SECTION = Section("Kafka's settings without effect")

ONE_LOOP = "Penstock serves all connections on one event loop; several cores are used by several brokers."
NO_PURGATORY = "Waiting requests cost nothing here until they are due."
_SECURITY = "org.apache.kafka.common.security"
_REMOTE = "org.apache.kafka.server.log.remote.metadata.storage"
_ROWS = {
    "Tiered storage is not offered.": f"""
        remote.log.storage.system.enable boolean false read-only
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
    "A failed fetch of keys is retried after ten seconds.": """
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
        num.network.threads int 3 cluster-wide 1
        num.io.threads int 8 cluster-wide 1
        background.threads int 10 cluster-wide 1
        group.coordinator.threads int 4 read-only 1
        share.coordinator.threads int 1 read-only 1
        group.coordinator.background.threads int 2 read-only 1
    """,
    NO_PURGATORY: """
        fetch.purgatory.purge.interval.requests int 1000 read-only
        producer.purgatory.purge.interval.requests int 1000 read-only
        delete.records.purgatory.purge.interval.requests int 1 read-only
        share.fetch.purgatory.purge.interval.requests int 1000 read-only
    """,
    "There is one assignor for share groups.": """
        group.share.assignors list simple read-only
    """,
    "Coordinators keep no buffers between writes.": """
        group.coordinator.cached.buffer.max.bytes int 1048588 cluster-wide 524288
        share.coordinator.cached.buffer.max.bytes int 1048588 cluster-wide 524288
    """,
    "Clients retry this request, not brokers.": """
        add.partitions.to.txn.retry.backoff.max.ms int 100 read-only 0
        add.partitions.to.txn.retry.backoff.ms int 20 read-only 1
    """,
    "Metrics are offered to Prometheus.": """
        metric.reporters list "" cluster-wide
        metrics.num.samples int 2 read-only 1
        metrics.sample.window.ms long 30000 read-only 1
        metrics.recording.level string INFO read-only
    """,
    "Appends are batched while the disk is busy.": """
        group.coordinator.append.linger.ms int -1 read-only -1
        share.coordinator.append.linger.ms int -1 read-only -1
        controller.quorum.append.linger.ms int 25 read-only
    """,
    "It is a setting of the ZooKeeper controller.": """
        controller.socket.timeout.ms int 30000 read-only
    """,
    "Only stable feature versions are offered.": """
        unstable.feature.versions.enable boolean false read-only
    """,
    "All listeners open at the same time.": """
        early.start.listeners list - read-only
    """,
    (
        "Requests do not wait for threads: a connection is not read while 256 requests or 64 MiB are in progress, and "
        "`queued.max.request.bytes` limits all of them."
    ): """
        queued.max.requests int 500 read-only 1
    """,
    "The operating system chooses the size.": """
        replica.socket.receive.buffer.bytes int 65536 read-only
    """,
    "A follower has one connection to each leader, so that all partitions are fetched and synced together.": """
        num.replica.fetchers int 1 cluster-wide
    """,
    "The metadata log is kept with the other logs, under one lock and one set of checkpoints.": """
        metadata.log.dir string - read-only
    """,
    "The value is fixed in Penstock.": """
        controller.quorum.fetch.max.bytes int 1048576 read-only 1
        controller.quorum.fetch.snapshot.max.bytes int 1048576 read-only 1
        log.cleaner.io.buffer.load.factor double 0.9 cluster-wide
        log.cleaner.io.buffer.size int 524288 cluster-wide 0
        log.dir.failure.timeout.ms long 30000 read-only 1
        log.flush.start.offset.checkpoint.interval.ms int 60000 read-only 0
        log.initial.task.delay.ms long 30000 read-only 0
        metadata.log.max.snapshot.interval.ms long 3600000 read-only 0
        metadata.log.segment.bytes int 1073741824 read-only 12
        metadata.log.segment.ms long 604800000 read-only
        metadata.max.idle.interval.ms int 500 read-only 0
        metadata.max.retention.bytes long 104857600 read-only
        metadata.max.retention.ms long 604800000 read-only
        num.recovery.threads.per.data.dir int 2 cluster-wide 1
        offsets.load.buffer.size int 5242880 read-only 1
        request.timeout.ms int 30000 read-only
        share.coordinator.load.buffer.size int 5242880 read-only 1
        socket.connection.setup.timeout.max.ms long 30000 read-only
        socket.connection.setup.timeout.ms long 10000 read-only
        transaction.state.log.load.buffer.size int 5242880 read-only 1
    """,
}
for _reason, _rows in _ROWS.items():
    SECTION.ignored(_reason, _rows)

SECTIONS = (SECTION,)
