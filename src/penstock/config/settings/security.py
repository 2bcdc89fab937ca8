"""Broker settings about TLS, SASL, authorization and quotas."""

from penstock.config.property import Live
from penstock.config.section import Section

TLS = Section("TLS", live=Live.PER_BROKER)

SSL_CLIENT_AUTH = TLS.string(
    "ssl.client.auth",
    "none",
    "Whether clients must present a certificate: `required`, `requested` or `none`.",
    choices=("required", "requested", "none"),
)
SSL_ENABLED_PROTOCOLS = TLS.names(
    "ssl.enabled.protocols", ("TLSv1.2", "TLSv1.3"), "The TLS versions offered."
)
SSL_PROTOCOL = TLS.string(
    "ssl.protocol",
    "TLSv1.3",
    "The TLS version used for connections this broker opens: the newest of `ssl.enabled.protocols` that both have.",
    ignored=True,
)
SSL_CIPHER_SUITES = TLS.names(
    "ssl.cipher.suites", (), "The cipher suites offered; empty leaves it to OpenSSL."
)
SSL_KEYSTORE_TYPE = TLS.string(
    "ssl.keystore.type", "PEM", "The type of the key file.", choices=("PEM", "PKCS12", "JKS")
)
SSL_KEYSTORE_LOCATION = TLS.optional_string(
    "ssl.keystore.location", "The file with this broker's key and certificates."
)
SSL_KEYSTORE_PASSWORD = TLS.password("ssl.keystore.password", "The password of that file.")
SSL_KEY_PASSWORD = TLS.password("ssl.key.password", "The password of the private key.")
SSL_KEYSTORE_KEY = TLS.password("ssl.keystore.key", "The private key itself, in PEM.")
SSL_KEYSTORE_CERTIFICATE_CHAIN = TLS.password(
    "ssl.keystore.certificate.chain", "The certificates themselves, in PEM."
)
SSL_TRUSTSTORE_TYPE = TLS.string(
    "ssl.truststore.type", "PEM", "The type of the trust file.", choices=("PEM", "PKCS12", "JKS")
)
SSL_TRUSTSTORE_LOCATION = TLS.optional_string(
    "ssl.truststore.location", "The file with the certificates that are trusted."
)
SSL_TRUSTSTORE_PASSWORD = TLS.password("ssl.truststore.password", "The password of that file.")
SSL_TRUSTSTORE_CERTIFICATES = TLS.password(
    "ssl.truststore.certificates", "The trusted certificates themselves, in PEM."
)
SSL_ENDPOINT_IDENTIFICATION_ALGORITHM = TLS.string(
    "ssl.endpoint.identification.algorithm",
    "https",
    "How the name of another broker is checked against its certificate; empty does not check.",
)
SSL_PRINCIPAL_MAPPING_RULES = TLS.string(
    "ssl.principal.mapping.rules",
    "DEFAULT",
    "Rules that map a certificate's subject to a user name (KIP-371).",
    live=Live.READ_ONLY,
)

SASL = Section("SASL", live=Live.PER_BROKER)

SASL_ENABLED_MECHANISMS = SASL.names(
    "sasl.enabled.mechanisms", (), "The mechanisms offered: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER."
)
SASL_MECHANISM_INTER_BROKER_PROTOCOL = SASL.string(
    "sasl.mechanism.inter.broker.protocol", "GSSAPI", "The mechanism brokers use among themselves."
)
SASL_MECHANISM_CONTROLLER_PROTOCOL = SASL.string(
    "sasl.mechanism.controller.protocol",
    "GSSAPI",
    "The mechanism brokers use towards the quorum, on the listener of `controller.listener.names`.",
    live=Live.READ_ONLY,
)
SASL_JAAS_CONFIG = SASL.password(
    "sasl.jaas.config", "Users and passwords of PLAIN, in the form of Kafka's login modules."
)
SASL_SERVER_MAX_RECEIVE_SIZE = SASL.integer(
    "sasl.server.max.receive.size",
    524_288,
    "The largest message accepted before authentication is complete.",
    live=Live.READ_ONLY,
)
CONNECTIONS_MAX_REAUTH_MS = SASL.long(
    "connections.max.reauth.ms",
    0,
    "Time after which a client must log in again (KIP-368); 0: never.",
    live=Live.READ_ONLY,
)
SASL_OAUTHBEARER_JWKS_ENDPOINT_URL = SASL.optional_string(
    "sasl.oauthbearer.jwks.endpoint.url", "The URL of the keys that sign tokens (JWKS)."
)
SASL_OAUTHBEARER_JWKS_ENDPOINT_REFRESH_MS = SASL.long(
    "sasl.oauthbearer.jwks.endpoint.refresh.ms", 3_600_000, "How often these keys are refreshed."
)
SASL_OAUTHBEARER_EXPECTED_AUDIENCE = SASL.names(
    "sasl.oauthbearer.expected.audience", (), "The accepted audiences of a token."
)
SASL_OAUTHBEARER_EXPECTED_ISSUER = SASL.optional_string(
    "sasl.oauthbearer.expected.issuer", "The accepted issuer of a token."
)
SASL_OAUTHBEARER_CLOCK_SKEW_SECONDS = SASL.integer(
    "sasl.oauthbearer.clock.skew.seconds", 30, "The tolerated difference to the issuer's clock."
)
SASL_OAUTHBEARER_SCOPE_CLAIM_NAME = SASL.string(
    "sasl.oauthbearer.scope.claim.name",
    "scope",
    "The claim that holds the scopes.",
    live=Live.READ_ONLY,
    ignored=True,
)
SASL_OAUTHBEARER_ALGORITHMS = SASL.names(
    "penstock.sasl.oauthbearer.algorithms",
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"),
    "The algorithms that tokens may be signed by; those with shared secrets, and `none`, are never taken.",
)
SCRAM_DECOY_SECRET = SASL.password(
    "penstock.scram.decoy.secret",
    "The secret from which the salts of unknown users are derived. The cluster creates it with its first user.",
    live=Live.CLUSTER_WIDE,
)
SASL_OAUTHBEARER_SUB_CLAIM_NAME = SASL.string(
    "sasl.oauthbearer.sub.claim.name", "sub", "The claim that holds the user's name."
)

ACCESS = Section("Authorization and quotas")

AUTHORIZER_CLASS_NAME = ACCESS.string(
    "authorizer.class.name",
    "",
    "Empty allows everything; `org.apache.kafka.metadata.authorizer.StandardAuthorizer` switches ACLs on.",
)
SUPER_USERS = ACCESS.string(
    "super.users", "", "Users who may do anything, as User:name, separated by semicolons."
)
ALLOW_KAFKA_NODES = ACCESS.boolean(
    "penstock.allow.kafka.nodes",
    False,
    "Lets nodes of Apache Kafka join a cluster that has none: they cannot prove its token. While this is set, and "
    "while there are such nodes, peers count as brokers on the terms on which Kafka trusts them (docs/security.md).",
    live=Live.CLUSTER_WIDE,
)
ALLOW_EVERYONE_IF_NO_ACL_FOUND = ACCESS.boolean(
    "allow.everyone.if.no.acl.found", False, "Whether a resource without ACLs is open to all."
)
QUOTA_WINDOW_NUM = ACCESS.integer(
    "quota.window.num", 11, "How many samples a quota is averaged over.", at_least=1
)
QUOTA_WINDOW_SIZE_SECONDS = ACCESS.integer(
    "quota.window.size.seconds", 1, "The duration of such a sample.", at_least=1
)
CONTROLLER_QUOTA_WINDOW_NUM = ACCESS.integer(
    "controller.quota.window.num", 11, "Samples of the quota on topic changes (KIP-599).", at_least=1
)
CONTROLLER_QUOTA_WINDOW_SIZE_SECONDS = ACCESS.integer(
    "controller.quota.window.size.seconds", 1, "The duration of such a sample.", at_least=1
)

SECTIONS = (TLS, SASL, ACCESS)
