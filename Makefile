.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JARS := build/pysync-listener.jar build/pysync-copy.jar
SETUP := $(VENV)/.setup
PACKER := build/venv
PACKER_SETUP := $(PACKER)/.setup
ARCHIVE := $(VENV)/share/pysync/metastore.jsa
TOOLS := build/release/tools
RUNTIME := build/release/runtime
RELEASE := PYTHONPATH=.ci $(TOOLS)/bin/python -m release
SUITE ?= quick
SUITES := quick servers athena spark crash browser versions kerberos readme views acid iceberg container chaos mutation aws
SUITES_HERE := quick servers athena spark crash browser
RELEASE_SUITES ?= quick servers athena spark crash browser versions kerberos
PYTEST := $(BIN)/python -m pytest
CONTAINER_TOOLS := build/container/tools
SITE_TOOLS := build/site-tools

# Else every one of some hundred processes that a test starts compiles all of pysync anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help doctor doctor-python doctor-build setup man jar dist demo site test test-all simulate lint format bench compare-agents pictures clean

help: ## show this help
	@awk -F ':.*## ' '/^[a-zA-Z_%-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

doctor-python:
	@command -v $(PYTHON) >/dev/null || { echo "pysync needs Python 3.10 or newer: install it, or name it: make PYTHON=/path/to/python3"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "pysync needs Python 3.10 or newer, this is $$($(PYTHON) --version): name a newer one: make PYTHON=/path/to/python3"; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "pysync needs Python's venv module: install it (Debian: apt-get install python3-venv)"; exit 2; }

doctor-build: doctor-python
	@$(PYTHON) listener-java/build.py --check-jdk

doctor: doctor-python  # pyspark 4 needs Java 17
	@$(PYTHON) listener-java/build.py --check-jdk 17

# Packages that come as sources are built by tools that are installed already, as these have hashes: no others are fetched.
$(SETUP): pyproject.toml .ci/build.txt .ci/development.txt
	@echo "setting up $(VENV) (once; about a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade --require-hashes -r .ci/build.txt
	@$(BIN)/python -m pip install --quiet --require-hashes --no-build-isolation -r .ci/development.txt
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(PACKER_SETUP): .ci/build.txt
	@echo "setting up $(PACKER), which builds jar and packages (once; some seconds)"
	@$(PYTHON) -m venv $(PACKER)
	@$(PACKER)/bin/python -m pip install --quiet --require-hashes -r .ci/build.txt
	@touch $@

build/pysync-listener.jar: $(PACKER_SETUP) pyproject.toml $(wildcard listener-java/*.py) listener-java/NOTICE $(shell find listener-java/src -type f 2>/dev/null)
	@$(PACKER)/bin/python listener-java/build.py --output build

build/pysync-copy.jar: build/pysync-listener.jar  # both are built at once
	@test -f $@ || $(PACKER)/bin/python listener-java/build.py --output build

$(ARCHIVE): $(SETUP)
	@echo "keeping the classes of the embedded metastore (once; a third of each of its starts)"
	@$(BIN)/python -m pysync.lab.archive || echo "none kept: the tests take longer"

setup: doctor $(SETUP) ## make the virtual environment with all packages

# write docs/pysync.1, the manual page, and the tables of docs/commands.md from what `pysync --help` says
man: setup
	@$(BIN)/pysync man > docs/pysync.1
	@$(BIN)/python -m tests.support.commandtable

$(SITE_TOOLS)/.setup: .ci/site.txt
	@$(PYTHON) -m venv $(SITE_TOOLS)
	@$(SITE_TOOLS)/bin/python -m pip install --quiet --require-hashes --only-binary :all: -r .ci/site.txt
	@touch $@

site: doctor-python $(SITE_TOOLS)/.setup ## the docs as HTML in build/site; a link that leads nowhere is an error
	@$(SITE_TOOLS)/bin/mkdocs build --strict -f .ci/site/mkdocs.yml

jar: doctor-build $(JARS) ## build the listener and the file copy: build/pysync-{listener,copy}.jar (JDK 9 or newer)

dist: doctor-build $(PACKER_SETUP) ## wheel and sdist into dist/, the jars in both; the same sources give the same bytes
	@rm -f dist/pysync-*.whl dist/pysync-*.tar.gz
	@echo "compiling the jars, and packing them with pysync as sdist and wheel into dist/ (half a minute; log: build/dist.log)"
	@$(PACKER)/bin/python -m build --no-isolation --outdir dist . >build/dist.log 2>&1 || { cat build/dist.log >&2; exit 1; }
	@cd dist && sha256sum pysync-*.whl pysync-*.tar.gz

demo: setup $(JARS) ## two real metastores, the sidecar killed half-way, the end states compared
	@$(BIN)/pysync demo $(ARGS)

test: setup $(JARS) $(ARCHIVE) ## the tests; the suites beside them: make test SUITE=servers, athena, spark, crash, browser, versions, …
	@case " $(SUITES) " in *" $(SUITE) "*) ;; *) echo "there is no suite $(SUITE): name one of $(SUITES)"; exit 2;; esac
	@$(MAKE) --no-print-directory suite-$(SUITE)

test-all: lint ## lint, and the suites that need nothing but Debian's packages: about an hour
	@for suite in $(SUITES_HERE); do $(MAKE) --no-print-directory test SUITE=$$suite ARGS= || exit 1; done

# Units, properties, histories, every kind of target but those of the suites below, and a smoke of each capability.
suite-quick:
	@$(PYTEST) -n 4 --dist loadfile --no-loadscope-reorder -m "not athena and not spark and not crash and (not servers or smoke)" $(ARGS)

# Real metastores, the jar in them, and sidecars as processes: what is not in the smoke.
suite-servers:
	@$(PYTEST) -n 4 --dist loadfile --no-loadscope-reorder -m "servers and not smoke and not athena and not spark and not crash" $(ARGS)

# What needs an Athena: a real Hive executes its DDL.
suite-athena:
	@$(PYTEST) -n 2 --dist loadfile -m athena $(ARGS)

# What needs a Spark: copies behind a sidecar, the target kind spark, verify by executors.
suite-spark:
	@$(PYTEST) -m spark $(ARGS)

# Kills, outages and other long runs on real servers: some twenty minutes.
suite-crash:
	@$(PYTEST) -n 3 --dist loadfile -m crash $(ARGS)

# The page in a real Chromium (Debian: chromium chromium-driver; as root they are installed).
suite-browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing chromium and chromium-driver (once; a minute)" && \
		apt-get update --quiet --quiet && \
		apt-get install --yes --quiet --quiet --no-install-recommends chromium chromium-driver fonts-dejavu-core >/dev/null; } || \
		{ echo "the page is tested in Chromium: install it (Debian: apt-get install chromium chromium-driver)"; exit 2; }
	@$(PYTEST) tests/browser $(ARGS)

# Every pair of Hive versions, PostgreSQL, HDFS, s3a, chaos on 3.1 and 4.1, the Maven build (needs Maven).
suite-versions:
	@$(PYTEST) --timeout=900 tests/versions $(ARGS)
	@for v in 3.1.3 4.1.0; do PYSYNC_TEST_HIVE=$$v $(PYTEST) tests/conformance tests/integration/test_statistics.py -k "hms or statistics" -m "not spark" || exit 1; done
	@for v in 3.1.3 4.1.0; do $(BIN)/python -m tests.chaos --source $$v --target $$v --rounds 2 --only "killed at random" || exit 1; done

# The login by Kerberos, against a real KDC (Debian: krb5-kdc krb5-admin-server krb5-user libkrb5-dev gcc).
suite-kerberos:
	@$(BIN)/python -c 'import gssapi' 2>/dev/null || $(BIN)/python -m pip install --quiet --require-hashes --build-constraint .ci/kerberos.txt -r .ci/kerberos.txt >/dev/null 2>&1 || true
	@$(PYTEST) --timeout=600 tests/versions/test_kerberos.py $(ARGS)

# README's set-up and the quickstart of docs/install.md, as they stand; the set-up in a fresh Debian (needs root, debootstrap, iproute2).
suite-readme:
	@$(PYTEST) -s tests/readme $(ARGS)

# Views of Hive, translated for Athena: rows by Hive or Spark, rows by a real Trino (needs Maven and a JDK 24; brings 450 MB once).
suite-views:
	@$(PYTEST) -q -s --timeout=3600 tests/views $(ARGS)

# Transactional tables of a real Hive 3.1 and 4.2, state by state (needs Maven, and a JDK 21 for Hive 4.2).
suite-acid:
	@$(PYTEST) -q -s --timeout=3600 tests/acid $(ARGS)

# Iceberg tables whose files are copied, with a Spark for which Iceberg has a runtime (needs Maven; brings 500 MB once).
ICEBERG := build/iceberg
$(ICEBERG)/.setup: .ci/iceberg.txt
	@$(BIN)/python -m pip install --quiet --require-hashes --no-build-isolation --no-deps --upgrade --target $(ICEBERG)/spark -r .ci/iceberg.txt
	@mvn --batch-mode --quiet dependency:copy -Dartifact=org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0 -DoutputDirectory=$(ICEBERG)
	@touch $@

suite-iceberg: $(ICEBERG)/.setup
	@PYTHONPATH=$(CURDIR)/$(ICEBERG)/spark $(PYTEST) -q -s tests/iceberg $(ARGS)

# The corpus of the suite athena on an AWS account of yours (docs/aws.md).
suite-aws:
	@$(PYTEST) -q tests/aws $(ARGS) || [ $$? -eq 5 ]  # 5: all of it was left out

# Mutants of the parts that decide: counts, and what no test notices (docs/testing.md). ARGS="--part fold --size 100"; hours.
suite-mutation:
	@$(BIN)/python -c 'import mutmut' 2>/dev/null || $(BIN)/python -m pip install --quiet --require-hashes --build-constraint .ci/build.txt -r .ci/mutation.txt
	@$(BIN)/python -m tests.mutation $(ARGS)

# The images, built by buildah and run as the pod of conf/kubernetes (root on a Debian; a quarter of an hour).
suite-container: $(CONTAINER_TOOLS)/.setup
	@$(PYTEST) -s --timeout=1800 tests/container $(ARGS)

# Streams of DDL against kills of everything, and properties with many examples: hours.
suite-chaos:
	@$(BIN)/python -m tests.chaos
	@PYSYNC_COPY_CHANGES=200 $(PYTEST) -m spark tests/integration/test_copy_drain.py -k reader $(ARGS)
	@PYSYNC_EXAMPLES=40 $(PYTEST) --timeout=3600 tests/chaos tests/unit/test_properties.py tests/unit/test_refresh_properties.py $(ARGS)
	@PYSYNC_ACTS=50 PYSYNC_BARRIERS=50 $(PYTEST) --timeout=3600 -m crash tests/integration/test_targets_at_work.py tests/crash/test_consistent_points.py $(ARGS)
	@PYSYNC_EXAMPLES=40 $(PYTEST) tests/unit/test_arguments.py tests/unit/test_config_garbage.py $(ARGS)
	@PYSYNC_ROUNDS=3 PYSYNC_SECONDS=180 $(PYTEST) -s tests/chaos/test_both_ways.py $(ARGS)

$(CONTAINER_TOOLS)/.setup: .ci/checkers.txt
	@[ "$$(id -u)" = 0 ] || { echo "the images are built and run as root: sudo make test SUITE=container"; exit 2; }
	@command -v apt-get >/dev/null || { echo "the base of the images is made from Debian's packages: this needs a Debian"; exit 2; }
	@echo "installing buildah, debootstrap and iproute2, and the checkers of tests/container/requirements.txt"
	@apt-get install --yes --quiet --quiet --no-install-recommends buildah debootstrap iproute2
	@$(PYTHON) -m venv $(CONTAINER_TOOLS)
	@$(CONTAINER_TOOLS)/bin/python -m pip install --quiet --require-hashes --only-binary :all: -r .ci/checkers.txt
	@touch $@

simulate: setup ## histories on a clock of their own, one seed each (HISTORIES of each topology; docs/testing.md)
	@$(BIN)/python -m tests.simulation $(if $(HISTORIES),--histories $(HISTORIES)) $(ARGS)

lint: setup ## ruff and mypy --strict
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

format: setup ## write the code as ruff would
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: pins sbom licences audit release

# draw the pictures of README anew, from real runs
pictures: setup $(JARS)
	@$(BIN)/python -m tests.pictures

$(TOOLS)/.setup: .ci/build.txt .ci/release.txt
	@echo "installing the tools of a release (once; half a minute)"
	@rm -rf $(TOOLS)
	@$(PYTHON) -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip install --quiet --upgrade --require-hashes -r .ci/build.txt
	@$(TOOLS)/bin/python -m pip install --quiet --require-hashes --no-build-isolation -r .ci/release.txt
	@touch $@

# What users install and nothing else, not even pip.
$(RUNTIME)/.setup: .ci/requirements.txt .ci/build.txt .ci/kerberos.txt | $(TOOLS)/.setup
	@echo "installing what users install (once; two minutes)"
	@rm -rf $(RUNTIME)
	@$(PYTHON) -m venv --without-pip $(RUNTIME)
	@$(TOOLS)/bin/python -m pip --python $(RUNTIME)/bin/python install --quiet --require-hashes --build-constraint .ci/build.txt --build-constraint .ci/kerberos.txt -r .ci/requirements.txt || \
		{ echo "if it is gssapi that fails: it is compiled, and needs gcc and MIT's library (Debian: apt-get install gcc libkrb5-dev)"; exit 2; }
	@touch $@

# write the pins in .ci anew: lines that were deleted get the newest version
pins: $(TOOLS)/.setup
	@$(RELEASE) pins

# what users install, as CycloneDX: dist/pysync-VERSION.cdx.json (needs gcc, libkrb5-dev)
sbom: $(RUNTIME)/.setup $(JARS)
	@$(RELEASE) sbom $(RUNTIME)/bin/python

# the licences of what users install; one that is not allowed is an error (needs gcc, libkrb5-dev)
licences: $(RUNTIME)/.setup
	@$(RELEASE) licences $(RUNTIME)/bin/python

# whether vulnerabilities are known of what users install: asks PyPI (ARGS='-s osv': another service)
audit: $(TOOLS)/.setup
	@$(RELEASE) audit $(ARGS)

release: setup $(TOOLS)/.setup ## everything that a release needs, in dist/; publishes nothing (docs/contributing.md)
	@$(RELEASE) check
	@rm -rf dist
	@$(MAKE) --no-print-directory audit ARGS="$(AUDIT)"
	@$(MAKE) --no-print-directory licences lint
	@for suite in $(RELEASE_SUITES); do $(MAKE) --no-print-directory test SUITE=$$suite ARGS= || exit 1; done
	@$(MAKE) --no-print-directory dist
	@$(MAKE) --no-print-directory sbom
	@$(RELEASE) finish $(RELEASE_SUITES)

bench: setup $(JARS) ## all benchmarks; `make bench-main` runs one
	@$(BIN)/python -m tests.bench

bench-%: setup $(JARS)
	@$(BIN)/python -m tests.bench $*

# pysync and AWS's two sync agents, the same DDL: V1=DIR V2=DIR, checkouts of their source (docs/coming-from.md#measured; needs Maven; half an hour)
compare-agents: setup $(JARS)
	@$(BIN)/python -m tests.compare $(if $(V1),--v1 $(V1)) $(if $(V2),--v2 $(V2)) $(ARGS)

clean: ## remove what was built (the virtual environment too)
	rm -rf build dist $(VENV) .mypy_cache .ruff_cache .pytest_cache
