"""The pipeline of every_kind.yaml in Python."""

from penstock.spark.pipeline import avro, define, envelope, expect, json, maintain, raw, restart, watermark

pipeline = define(
    "every-kind",
    bootstrap_servers="127.0.0.1:9092",
    checkpoints="./state",
    dead_letter_topic="every-kind.rejects",
    trigger="2 seconds",
    kafka={"isolation.level": "read_committed"},
    spark={"spark.sql.shuffle.partitions": "1"},
    restart=restart(attempts=3, within="5 minutes", backoff="500 ms"),
    maintain=maintain(when_files=10, every="1 minute"),
)

orders = pipeline.topic(
    "orders",
    decode=json("orderId STRING NOT NULL, customer STRING, amount DOUBLE, at TIMESTAMP"),
    starting="2024-05-01T00:00:00Z",
    max_offsets_per_trigger=10_000,
    watermark=watermark("at", "10 minutes"),
    expect=[expect("amount > 0", name="positive amount", otherwise="drop"), "customer IS NOT NULL"],
)
payments = pipeline.topic(
    "payments",
    topic=["payments", "payments-eu"],
    decode=json("paymentId STRING NOT NULL, orderId STRING, paidAt TIMESTAMP"),
    watermark=watermark("paidAt", "1 hour"),
)
pipeline.topic(
    "events",
    pattern=r"events\..*",
    decode=envelope("orderId STRING", event_types=["OrderPlaced"]),
    options={"failOnDataLoss": "false"},
)
logs = pipeline.topic("logs", decode=raw(text=True))
invoices = pipeline.topic("invoices", decode=avro(reader_schema="invoice.avsc", schemas={7: "invoice.avsc"}))
customers = pipeline.table("customers", "customers", table_format="parquet")

shipped = pipeline.sql(
    "shipped",
    """WITH placed AS (SELECT payload.orderId AS orderId FROM events)
SELECT o.*
  FROM Orders o
  JOIN placed ON o.orderId = placed.orderId
""",
)
errors = pipeline.filter("errors", logs, "value LIKE 'ERROR%'")
# A function of the file's own would do as well: see `@pipeline.step` in docs/pipelines.md.
tagged = pipeline.python(
    "tagged", orders, customers, function="steps.py:tag", expect=[expect("amount < 1e6", otherwise="warn")]
)
once = pipeline.dedupe("once", orders, by="orderId", within="10 minutes")
per_minute = pipeline.window(
    "per_minute",
    orders,
    on="at",
    size="1 minute",
    slide="30 s",
    by="customer",
    aggregates={"total": "sum(amount)", "n": "count(*)"},
)
sessions = pipeline.window(
    "sessions", orders, on="at", session_gap="5 min", by="customer", aggregates={"n": "count(*)"}
)
paid = pipeline.join(
    "paid",
    orders,
    payments,
    on="orders.orderId = payments.orderId AND paidAt BETWEEN at AND at + INTERVAL 1 HOUR",
    how="left",
    select="orders.*, payments.paidAt",
)
counted = pipeline.state(
    "counted", orders, by="customer", processor="steps.py:Counter", schema="customer STRING, n BIGINT"
)

pipeline.to_topic(
    "shipments",
    shipped,
    key="orderId",
    value="to_json(struct(orderId, amount))",
    headers={"customer": "customer"},
    delivery="at-least-once",
    partitions=3,
)
pipeline.to_topic("averages", per_minute, mode="update", trigger="10 s")
pipeline.to_table("history", once, path="./lake/orders", partition_by="customer", merge_schema=True)
pipeline.to_table(
    "visits",
    sessions,
    path="./lake/visits",
    table_format="parquet",
    maintain=maintain(when_files=50, target_mb=64, keep_versions="2 days", every="1 hour"),
)
pipeline.to_table(
    "remote",
    orders,
    path="s3://lake/orders",
    storage_options={"aws_region": "eu-central-1", "aws_profile": "shop"},
)
pipeline.to_table("named", orders, path="shop.orders", catalog="lakehouse")
pipeline.to_table(
    "described", orders, path="shop.all", catalog={"type": "rest", "uri": "https://catalog.example"}
)
pipeline.to_console("errors", errors, rows=5)
pipeline.to_console("tagged", tagged)
pipeline.to_topic("paid", paid)
pipeline.to_console("counts", counted)
pipeline.to_console("invoices", invoices)
