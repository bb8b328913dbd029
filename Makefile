# What a user types; the work is in scripts/ and CMakePresets.json.
SHELL := /bin/bash
PREFIX ?= /usr/local
TARGET ?= all
SECONDS ?= 60
MINUTES ?= 60
SEEDS ?= 100000

.PHONY: help setup build arrow demo docs test wheel install fuzz fuzz-long chaos simulate bench-kmeans bench-linear bench-lda bench-lasso bench-exchange bench-links bench-storage bench-parse bench-table bench-graph bench-factorize bench-python bench-append bench-tune lab format clean

help:
	@echo 'make demo                        install what is missing, build, show what the program does'
	@echo 'make test                        the same, and every test'
	@echo 'make docs                        the documents as a site with search: build/site/html'
	@echo 'make build                       the program: build/release/meanwhile'
	@echo 'make arrow                       the program with Parquet, Arrow and Feather files'
	@echo 'make wheel                       the Python package as wheels: build/python/wheels'
	@echo 'make install PREFIX=/usr/local   program, library, headers, CMake package'
	@echo 'make setup                       only install what is missing (packages.txt)'
	@echo 'make fuzz TARGET=csv SECONDS=60  one fuzz target, or all; see test/fuzz'
	@echo 'make fuzz-long MINUTES=60        all fuzz targets for an hour or a night, and a summary'
	@echo 'make chaos MINUTES=60            kills, faults and damage for an hour or a night, and a summary'
	@echo 'make simulate SEEDS=100000       storage workers on seeds, with faults between any two operations'
	@echo 'make bench-kmeans                k-means against its peers'
	@echo 'make bench-linear                linear models against their peers, and their steps'
	@echo 'make bench-lda                   topic models against their peers, models against gradients'
	@echo 'make bench-exchange              sums between MPI ranks against MPI_Allreduce'
	@echo 'make bench-lasso ROWS=FILE      linear models with L1 against their peers'
	@echo 'make bench-links                 allreduce against tree over shaped links (root)'
	@echo 'make bench-storage               jobs on storage: transfers, overhead, requests, barriers'
	@echo 'make bench-parse                 how fast text is parsed'
	@echo 'make bench-table                 tables: accuracy against scikit-learn, reading against pandas'
	@echo 'make bench-append                predict --append of a large CSV file against cat'
	@echo 'make bench-factorize             matrix factorisation against its peers'
	@echo 'make bench-python                the Python package against scikit-learn and intelex'
	@echo 'make bench-graph                 graphs against scipy, networkit, GraphBLAS and PGMax'
	@echo 'make bench-tune ROWS=FILE        penalties on folds against GridSearchCV'
	@echo 'make lab                         a virtual cluster: measured speedup against predicted (root)'
	@echo 'make format                      clang-format over all sources'
	@echo 'make clean                       remove build/'

# Runs apt-get only when the list changed and something of it is missing.
build/setup.done: packages.txt scripts/setup.sh
	@scripts/setup.sh
	@mkdir -p build && touch $@
setup: build/setup.done

build: setup
	@scripts/build.sh release meanwhile

arrow: setup
	@scripts/arrow.sh
	@scripts/build.sh release meanwhile

demo: build
	@scripts/demo.sh

docs: build
	@scripts/docs.sh

test:
	@scripts/test.sh

wheel: setup
	@scripts/python.sh wheel

install: build
	cmake --install build/release --prefix '$(PREFIX)'

fuzz: setup
	@scripts/build.sh fuzz fuzz
	@scripts/fuzz.sh '$(TARGET)' '$(SECONDS)'

fuzz-long: setup
	@scripts/build.sh fuzz fuzz
	@scripts/fuzz.sh long '$(MINUTES)'

chaos: setup
	@scripts/build.sh fuzz meanwhile memory_program table_program simulate
	@test/chaos/long.py build/fuzz --minutes '$(MINUTES)'

simulate: setup
	@scripts/build.sh release simulate
	@scripts/simulate.sh '$(SEEDS)'

bench-kmeans: build
	@bench/kmeans.sh

bench-linear: build
	@scripts/build.sh release generate_sparse reference_optimum
	@bench/linear.sh

bench-lda: build
	@bench/lda/lda.sh

bench-lasso: build
	@bench/lasso/lasso.sh '$(ROWS)'

bench-exchange: setup
	@scripts/build.sh release exchange_bench
	@bench/exchange.sh

bench-links: setup
	@scripts/build.sh release exchange_bench
	@bench/links.sh

bench-storage: build
	@scripts/build.sh release storage_bench
	@bench/storage.sh

bench-parse: setup
	@scripts/build.sh release parse_bench
	@build/release/bench/parse_bench

bench-table: build
	@bench/table.sh

bench-append: build
	@bench/append.py build/release/meanwhile

bench-factorize: build
	@scripts/build.sh release generate_ratings
	@bench/factorize/factorize.sh

bench-python: build
	@bench/python.sh

bench-graph: build
	@bench/graph/graph.sh $(UAI)

bench-tune: build
	@bench/tune.sh $(ROWS)

lab: build
	@lab/lab.sh

format: setup
	@git ls-files -z --cached --others --exclude-standard '*.h' '*.cc' | xargs -0 clang-format -i

clean:
	rm -rf build
