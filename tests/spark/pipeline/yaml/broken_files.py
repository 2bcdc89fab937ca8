"""Broken files: each case is a file, with `#!` on the line that the message must name."""

TOP = "pipeline: p\n"
ORDERS = "sources: {orders: {topic: orders, decode: {json: 'id STRING, amount DOUBLE, at TIMESTAMP'}}}\n"
LATE = "watermark: {column: at, delay: 1 m}"
OUTPUT = "outputs: {out: {from: orders, console: true}}\n"


def source(*lines: str) -> str:
    """A file whose source `orders` has these lines."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"{TOP}sources:\n  orders:\n{body}{OUTPUT}"


def step(*lines: str, output: str = "outputs: {out: {from: s, console: true}}\n") -> str:
    """A file whose step `s` has these lines, over the source `orders`."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"{TOP}{ORDERS}steps:\n  - name: s\n{body}{output}"


def output(*lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"{TOP}{ORDERS}outputs:\n  out:\n    from: orders\n{body}"


BROKEN = [
    # -- YAML itself
    ("pipeline: [p\n#!", "is not YAML"),
    ("pipeline: p\n\tsources: {}  #!\n", "is not YAML"),
    ("pipeline: p\n---\npipeline: q\n", "is not YAML: expected a single document"),
    ("", "is empty: write `pipeline: NAME`"),
    ("- a  #!", "must be a mapping (`key: value` lines), not a list"),
    ("just text #!", "must be a mapping (`key: value` lines), not text"),
    (TOP + ORDERS + "pipeline: q  #!\n" + OUTPUT, "`pipeline` is here twice (first on line 1): keep one"),
    (source("topic: a", "topic: b  #!"), "source orders: `topic` is here twice"),
    (TOP + "? [a, b]  #!\n: c\n" + ORDERS + OUTPUT, "a key must be a plain word"),
    # -- the top
    (ORDERS + OUTPUT, "`pipeline` is missing"),
    (TOP + OUTPUT, "`sources` must name at least one"),
    (TOP + ORDERS, "`outputs` must name at least one"),
    ("pipeline:  #!\n" + ORDERS + OUTPUT, "`pipeline` has no value: write one, or remove the key"),
    ("pipeline: my pipeline  #!\n" + ORDERS + OUTPUT, "pipeline my pipeline: the name may have letters"),
    (TOP + "triger: 1 s  #!\n" + ORDERS + OUTPUT, "unknown key `triger`; did you mean `trigger`?"),
    (TOP + "color: blue  #!\n" + ORDERS + OUTPUT, "unknown key `color`: known here are `sources`, `steps`"),
    (
        TOP + "trigger: soon  #!\n" + ORDERS + OUTPUT,
        "`trigger`: `soon` is not a duration: write a number and",
    ),
    (TOP + "trigger: 10  #!\n" + ORDERS + OUTPUT, "`10` is not a duration"),
    (TOP + "source_format: kafak  #!\n" + ORDERS + OUTPUT, "cannot be `kafak`; did you mean `kafka`?"),
    (TOP + "kafka: [a]  #!\n" + ORDERS + OUTPUT, "kafka: must be a mapping (`key: value` lines), not a list"),
    (
        TOP + "restart: {attempts: many}  #!\n" + ORDERS + OUTPUT,
        "must be a whole number of at least 0, not `many`",
    ),
    (TOP + "restart: {retries: 3}  #!\n" + ORDERS + OUTPUT, "restart: unknown key `retries`"),
    (
        "pipeline: p  #!\nbootstrap_servers: nowhere\n" + ORDERS + OUTPUT,
        "`nowhere` is not an address: write HOST:PORT",
    ),
    (
        "pipeline: p  #!\nkafka: {bootstrap.servers: a:1}\n" + ORDERS + OUTPUT,
        "write `bootstrap_servers` at the top",
    ),
    ("pipeline: p  #!\ndead_letter_topic: a b\n" + ORDERS + OUTPUT, "`a b` is not a topic name"),
    (
        "pipeline: p\non_failure: {restarts: true}  #!\n" + ORDERS + OUTPUT,
        "write `url: https://…` or `command",
    ),
    (
        "pipeline: p\non_failure: {url: ftp://a}  #!\n" + ORDERS + OUTPUT,
        "must begin with http:// or https://",
    ),
    ("pipeline: p\nlineage: {}  #!\n" + ORDERS + OUTPUT, "needs exactly one of `file`, `url` or `topic`"),
    ("pipeline: p\nlineage: {topic: a b}  #!\n" + ORDERS + OUTPUT, "`a b` is not a topic name"),
    ("pipeline: p  #!\nhistory_topic: a/b\n" + ORDERS + OUTPUT, "history_topic: `a/b` is not a topic name"),
    # -- variables
    (
        TOP + "checkpoints: ${NOWHERE}/x  #!\n" + ORDERS + OUTPUT,
        "the environment variable NOWHERE is not set",
    ),
    (
        source("topic: ${file:/no/such/secret}  #!"),
        "cannot read the file /no/such/secret for ${file:/no/such",
    ),
    (source("topic: ${1x}  #!"), "`${1x}` is not a variable"),
    # -- sources
    (
        source("decode: raw").replace("orders:\n", "orders:  #!\n"),
        "needs exactly one of `topic`, `topics`, `pattern` or",
    ),
    (source("topic: a", "table: b  #!"), "has `topic` and `table`: keep exactly one of"),
    (source("topic: [a, b]  #!"), "`topic` must be text, not a list"),
    (source("topic: a/b").replace("orders:\n", "orders:  #!\n"), "`a/b` is not a topic name"),
    (source("topics: []").replace("orders:\n", "orders:  #!\n"), "`topics` names no topic"),
    (source("pattern: '('").replace("orders:\n", "orders:  #!\n"), "`pattern` is not a regular expression"),
    (source("topic: a", "decode: jsn  #!"), "`decode` cannot be `jsn`; did you mean `json`?"),
    (source("topic: a", "decode: json  #!"), "`decode` needs settings: write `decode: {json: {…}}`"),
    (source("topic: a", "decode: {json: {}}  #!"), "decode: json: `schema` is missing"),
    (source("topic: a", "decode: {json: {schema: a INT, x: 1}}  #!"), "decode: json: unknown key `x`"),
    (
        source("topic: a", "decode: {avro: {framed: yes}}  #!"),
        "`framed` must be `true` or `false`, not `yes`",
    ),
    (source("topic: a", "decode: {avro: {schemas: {one: a.avsc}}}  #!"), "must be a number"),
    (source("topic: a", "decode: {protobuf: {descriptors: a}}  #!"), "`message` is missing"),
    (
        source("topic: a", "starting: yesterday").replace("orders:\n", "orders:  #!\n"),
        "cannot be `yesterday`: write",
    ),
    (
        source("topic: a", "starting: '{\"a\": 1}'").replace("orders:\n", "orders:  #!\n"),
        "is not a map of offsets",
    ),
    (source("topic: a", "max_offsets_per_trigger: 0  #!"), "must be a whole number of at least 1, not `0`"),
    (source("topic: a", "watermark: {column: at}  #!"), "watermark: `delay` is missing"),
    (source("topic: a", "watermark: at  #!"), "watermark: must be a mapping"),
    (
        source("topic: a", "expect:", "  - {rule: a > 0, otherwise: explode}  #!"),
        "`otherwise` cannot be `explode`",
    ),
    (source("topic: a", "expect:", "  - {name: x}  #!"), "expect: `rule` is missing"),
    (source("topic: a", "expect:", "  - a > 0", "  - a > 0  #!"), "there are two expectations named `a > 0`"),
    (
        source("topic: a", "expect: {a: b}  #!"),
        "`expect` must be a list (lines that begin with `-`), not a mapping",
    ),
    (
        source("topic: a", "options: {subscribe: b}").replace("orders:\n", "orders:  #!\n"),
        "has a key of its own",
    ),
    (source("table: a", "decode: raw  #!"), "`decode` is for topics, and this source is a table"),
    (source("topic: a", "format: delta  #!"), "`format` is for tables, and this source is a topic"),
    (
        source("topic: a").replace("  orders:\n", "  orders: {topic: orders}\n  my-orders:  #!\n"),
        "source my-orders: a name in SQL has letters, digits and underscores only: write `my_orders`",
    ),
    (
        f"{TOP}sources:\n  orders:\n    topic: a\n  Orders:  #!\n    topic: a\n{OUTPUT}",
        "the name is taken by the source",
    ),
    # -- steps
    (f"{TOP}{ORDERS}steps:\n  - sql: SELECT 1 FROM orders  #!\n{OUTPUT}", "step 1: `name` is missing"),
    (f"{TOP}{ORDERS}steps: {{a: b}}  #!\n{OUTPUT}", "`steps` must be a list"),
    (f"{TOP}{ORDERS}steps:\n  - just text  #!\n{OUTPUT}", "step 1: must be a mapping"),
    (
        (
            f"{TOP}{ORDERS}steps:\n  - {{name: a, from: orders, filter: x}}\n"
            f"  - {{name: a, from: orders, filter: y}}  #!\n{OUTPUT}"
        ),
        "step a: the name is taken by the step on line 4",
    ),
    (
        step("from: orders").replace("name: s\n", "name: s  #!\n"),
        "needs exactly one of `sql`, `filter`, `python`",
    ),
    (
        step("from: orders", "filtr: a > 0  #!", "filter: a > 0"),
        "unknown key `filtr`; did you mean `filter`?",
    ),
    (step("from: orders", "filter: a > 0", "sql: SELECT 1 FROM orders  #!"), "has `filter` and `sql`: keep"),
    (step("from: orders  #!", "sql: SELECT 1 FROM orders"), "`from` is not for `sql`"),
    (
        step("filter: a > 0").replace("name: s\n", "name: s  #!\n"),
        "`from` is missing: say what the filter step reads",
    ),
    (
        step("from: order", "filter: a > 0").replace("name: s\n", "name: s  #!\n"),
        "reads `order`, which is neither",
    ),
    (
        step("sql: |", "  SELECT a", "  FROM ordrs  --#!"),
        "reads `ordrs`, which is neither a source nor a step; did",
    ),
    (
        step("sql: SELECT 'a FROM orders  #!"),
        "step s: the query has a quote or a comment that is never closed",
    ),
    (step("sql: SELECT 1  #!"), "the query reads no source and no step"),
    (
        step("from: [orders, orders]", "filter: a").replace("name: s\n", "name: s  #!\n"),
        "reads one input, not 2",
    ),
    (
        step("from: orders", "join: {on: a}").replace("name: s\n", "name: s  #!\n"),
        "a join reads two inputs: write",
    ),
    (
        step("from: [orders, orders]", "join: {on: a}").replace("name: s\n", "name: s  #!\n"),
        "joins orders with itself",
    ),
    (
        step("from: orders", "join: {on: a, how: sideways}  #!"),
        "`how` cannot be `sideways`: write one of `inner`",
    ),
    (
        step("from: orders", "python: enrich  #!"),
        "`enrich` is not a reference to code: write `file.py:name` or `module:name`",
    ),
    (step("from: orders", "dedupe: {within: 1 hour}  #!"), "dedupe: `by` is missing"),
    (
        step("from: orders", "dedupe: {by: id, within: 1 hour}  #!"),
        "`within` needs a watermark, and there is none",
    ),
    (step("from: orders", "window: {on: at, aggregates: {n: count(*)}}  #!"), "window: `size` is missing"),
    (step("from: orders", "window: {on: at, size: 1 minute}  #!"), "`aggregates` is missing: write"),
    (
        step("from: orders", "window: {on: at, size: 1 m, session_gap: 1 m, aggregates: {n: count(*)}}  #!"),
        "`session_gap` replaces `size` and `slide`",
    ),
    (
        step("from: orders", LATE, "window: {on: at, size: 1 m, slide: 2 m, aggregates: {n: count(*)}}  #!"),
        "`slide` must be longer than zero and at most `size`",
    ),
    (
        step("from: orders", LATE, "window: {on: at, size: 1 m, by: n, aggregates: {n: count(*)}}  #!"),
        "the result would have two columns `n`: rename one",
    ),
    (
        step("from: orders", "window: {on: at, size: 1 m, aggregates: {n: count(*)}}  #!"),
        "the window needs a watermark, because output out appends",
    ),
    (
        step(
            "from: orders",
            "watermark: {column: created, delay: 1 m}",
            "window: {on: at, size: 1 m, aggregates: {n: count(*)}}  #!",
        ),
        "the window is on `at`, but the watermark is on `created`",
    ),
    (
        step("from: orders", "state: {by: id, processor: 'a.py:B', schema: a INT, time_mode: EventTime}  #!"),
        "event time needs a watermark",
    ),
    (step("from: orders", "state: {by: id, schema: a INT}  #!"), "state: `processor` is missing"),
    (
        f"{TOP}{ORDERS}steps:\n  - {{name: s, sql: SELECT id, amount FROM orders}}  #!\n{OUTPUT}",
        "step s: `amount FROM orders` is cut off: inside {…} a text with commas needs quotes",
    ),
    # -- the graph
    (step("from: s", "filter: a > 0").replace("name: s\n", "name: s  #!\n"), "step s reads itself"),
    (
        (
            f"{TOP}{ORDERS}steps:\n"
            "  - {name: a, sql: SELECT * FROM c}  #!\n"
            "  - {name: b, from: a, filter: x > 0}\n"
            "  - {name: c, from: b, filter: x > 0}\n"
            f"{OUTPUT}"
        ),
        "steps read each other in a cycle: a (line 4) → c (line 6) → b (line 5) → a; let one of them",
    ),
    # -- outputs
    (
        TOP + ORDERS + "outputs:\n  out:  #!\n    from: nothing\n    console: true\n",
        "output out reads `nothing`",
    ),
    (TOP + ORDERS + "outputs:\n  out:  #!\n    console: true\n", "output out: `from` is missing"),
    (
        TOP + ORDERS + "outputs:\n  my out:  #!\n    {from: orders, console: true}\n",
        "output my out: the name may have",
    ),
    (
        output("mode: append").replace("out:\n", "out:  #!\n"),
        "needs exactly one of `topic`, `table`",
    ),
    (output("topic: a", "table: b  #!"), "has `topic` and `table`: keep exactly one of"),
    (output("topic: a b  #!"), "`a b` is not a topic name"),
    (output("topic: a", "delivery: maybe  #!"), "`delivery` cannot be `maybe`: write one of `exactly-once`"),
    (output("topic: a", "partitions: three  #!"), "must be a whole number of at least 1, not `three`"),
    (
        output("console: true", "value: id  #!"),
        "`value` is for outputs to a topic, and this one goes to a console",
    ),
    (output("table: 's3://b'  #!"), "names no directory in a bucket"),
    (output("table: 'ftp://b/t'  #!"), "tables can be in directories and at s3://, gs:// and abfss:// URLs"),
    (output("table: 's3://k:secret@b/t'  #!"), "s3://k:…@b/t has a secret in it"),
    (output("table: 's3://b/t'  #!", "format: parquet"), "plain Parquet tables cannot be in an object store"),
    (output("table: 's3://b/t'  #!", "format: iceberg"), "needs a catalog that decides between writers"),
    (output("table: a  #!", "options: {aws_region: x}"), "the options aws_region are for object stores"),
    (output("table: orders  #!", "catalog: lake"), "write NAMESPACE.TABLE, or remove `catalog`"),
    (
        output("table: a.b  #!", "catalog: lake", "format: delta"),
        "catalogs have Iceberg tables, no delta tables",
    ),
    (
        output("table: a  #!", "maintain: {keep_versions: 1 minute}"),
        "`keep_versions` must be at least 1 hour",
    ),
    (
        output("table: 'a/{topic}'  #!", "for_each_topic: true", "maintain: {every: 1 minute}"),
        "`maintain` is not for `for_each_topic`",
    ),
    (output("table: a  #!", "maintain: {every: 1 ms}"), "`every` must be at least 1 second"),
    (output("table: a", "maintain: {compact: {when_files: 1}}  #!"), "must be a whole number of at least 2"),
    ("pipeline: p  #!\nmaintain: {keep_versions: 1 s}\n" + ORDERS + OUTPUT, "must be at least 1 hour"),
    (output("table: a", "format: csv  #!"), "`format` cannot be `csv`: write one of `delta`"),
    (output("console: false  #!"), "`console` must be `true`"),
    (output("console: true", "mode: merge  #!"), "`mode` cannot be `merge`"),
    (
        output("table: a", "mode: update").replace("out:\n", "out:  #!\n"),
        "`mode: update` of a table needs `key`",
    ),
    (
        output("console: true", "mode: complete").replace("out:\n", "out:  #!\n"),
        "complete mode is for aggregates",
    ),
    (output("console: true", "trigger: 5 parsecs  #!"), "`5 parsecs` is not a duration"),
    (
        f"{TOP}sources: {{t: {{table: x}}}}\noutputs:\n  out:  #!\n    from: t\n    console: true\n",
        "output out: reads tables only: an output must read",
    ),
    (
        (
            f"{TOP}sources: {{a: {{topic: a}}, b: {{topic: b}}}}\nsteps:\n  - name: s\n    from: [a, b]\n"
            "    join: {on: a.key = b.key, how: left}  #!\noutputs: {out: {from: s, console: true}}\n"
        ),
        "a left join of two streams must know when no match can come anymore, and a and b have no watermarks",
    ),
]
