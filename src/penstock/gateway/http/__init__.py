"""HTTP on a broker's admin port: health, metrics, and gateways to topics for programs without a Kafka client.

`port` holds the listening socket and knows nothing of HTTP, so that a broker starts without loading a web server; the
first visitor has it loaded. `app` puts the parts together; each part is a module with `routes(app, …)` and `PATHS`, its
lines of the OpenAPI document. A gateway is an ordinary client of the cluster and acts as the user whose credentials the
request brings, so that ACLs and quotas hold without being asked for a second time.
"""
