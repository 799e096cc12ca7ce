# `make` prints what there is. Every target makes .venv by itself.

PROFILE  ?= quick
EXECUTOR ?= local
DEVICE   ?= auto
PYTHON   ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3 python,\
              $(if $(shell $(p) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
              2>/dev/null && echo yes),$(p))))
VENV     := .venv
RUN      := $(VENV)/bin/bn-memorization
READY    := $(VENV)/.ready
DASK     := $(VENV)/.dask
CLUSTER  := $(if $(filter dask%,$(value EXECUTOR)),$(DASK)) # Dask is installed for who asks for it
# Once given it is kept, or the next change of the lock would bring the large build back.
ifeq ($(origin TORCH_INDEX),undefined)
TORCH_INDEX := $(shell cat $(VENV)/torch-index 2>/dev/null)
else
override TORCH_INDEX := $(value TORCH_INDEX)
endif

# What a reader sets is text: `value` keeps make from expanding it, and recipes read it from the
# environment, where a shell splits it into words and runs nothing.
override EXECUTOR := $(value EXECUTOR)
override DEVICE   := $(value DEVICE)
export BN_MEMORIZATION_EXECUTOR := $(EXECUTOR)
export BN_MEMORIZATION_DEVICE   := $(DEVICE)
override PROFILE  := $(value PROFILE)
override CHAPTER  := $(value CHAPTER)
override PARAMS   := $(value PARAMS)
override DATASETS := $(value DATASETS)
override ROWS     := $(value ROWS)
override SITE_URL := $(value SITE_URL)
export PROFILE CHAPTER PARAMS DATASETS ROWS SITE_URL TORCH_INDEX

.DELETE_ON_ERROR:
.PHONY: help book chapter pdf site results plan data publish bench test lint format lock clean browser

help: ## print this list
	@echo "Batch normalization and memorization: a book that computes itself."
	@echo
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18
	@echo
	@echo "  PROFILE=quick     parameters of every chapter: smoke, quick, standard, paper"
	@echo "  EXECUTOR=local    where models train: local (a process a core), local:N, serial, dask-local:N"
	@echo "                    or dask://host:port, a cluster (book/scaling.md)"
	@echo "  DEVICE=auto       what they train on: auto, cpu, cuda or mps"
	@echo "  TORCH_INDEX=...   at the first make: an index to take PyTorch's CPU build from (README)"

book: $(READY) $(CLUSTER) ## run what is out of date and build the book
	@$(RUN) book --profile "$$PROFILE"

chapter: $(READY) $(CLUSTER) ## rerun one: CHAPTER=01_forced_memorization PARAMS="epochs=5"
	@set -f; $(RUN) chapter --profile "$$PROFILE" "$$CHAPTER" $$PARAMS

pdf: $(READY) $(CLUSTER) browser ## print the whole book as one PDF
	@$(RUN) pdf --profile "$$PROFILE"

site: $(READY) $(CLUSTER) ## lay the book out for a static host: SITE_URL=https://...
	@$(RUN) site --profile "$$PROFILE" --address "$$SITE_URL"

results: $(READY) $(CLUSTER) ## train what is missing for all chapters, and stop
	@$(RUN) results --profile "$$PROFILE"

plan: $(READY) ## say what is missing, and how long it would take on this device
	@$(RUN) plan --profile "$$PROFILE"

data: $(READY) ## fetch the full data sets: DATASETS="mnist cifar10", all without it
	@set -f; $(RUN) data $$DATASETS

publish: $(READY) ## copy the records and verdicts of a built book to published/
	@$(RUN) publish --profile "$$PROFILE"

bench: $(READY) ## time the code against what a user would take instead: ROWS="norms attack"
	@set -f; $(VENV)/bin/python -m benchmarks.speed $$ROWS

test: $(READY) $(DASK) browser ## run all tests, the built pages in a real browser among them
	@$(RUN) test

lint: $(READY) ## check form and style
	@$(RUN) lint

format: $(READY) ## put sources and notebooks into form
	@$(VENV)/bin/ruff check --fix . && $(VENV)/bin/ruff format .

clean: $(READY) ## remove executed chapters and built pages; run records stay
	@$(RUN) clean

browser: $(READY)
	@sh tests/browser/install.sh $(VENV)/bin/python

COMPILE := uv pip compile --universal --generate-hashes --python-version 3.11 --no-emit-index-url \
  --no-annotate --custom-compile-command "make lock"

lock: $(READY) ## resolve pyproject.toml into both locks anew (needs uv)
	$(COMPILE) --extra dev -o requirements.lock pyproject.toml
	$(VENV)/bin/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))\
	['project']['optional-dependencies']['dask'], sep='\n')" \
	  | $(COMPILE) --constraint requirements.lock -o requirements-dask.lock -

# PyTorch and what only its CUDA build needs; with TORCH_INDEX these come from there.
TORCH := ^(torch|torchvision|triton|nvidia-|cuda-)

$(READY): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed; none is on the PATH. \
	Name one: make PYTHON=/path/to/python"; exit 2; }
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (once; several minutes, most of it PyTorch) ..."
	@cp requirements.lock $(VENV)/wanted.lock
ifneq ($(TORCH_INDEX),)
	@echo "$$TORCH_INDEX" > $(VENV)/torch-index
	@awk '/^[^ #]/ { skip = /$(TORCH)/ } !skip' requirements.lock > $(VENV)/wanted.lock
	@$(VENV)/bin/python -m pip install --index-url "$$TORCH_INDEX" \
	  $(shell sed -nE 's/^(torch|torchvision)==([^ ]*).*/\1==\2/p' requirements.lock)
endif
	@if command -v uv >/dev/null 2>&1; then \
	  uv pip install --quiet --python $(VENV)/bin/python --compile-bytecode --require-hashes \
	    -r $(VENV)/wanted.lock; \
	else \
	  $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	    -r $(VENV)/wanted.lock; \
	fi
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  --no-build-isolation --editable .
	@touch $(READY)

$(DASK): $(READY) requirements-dask.lock
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
	  -r requirements-dask.lock
	@touch $(DASK)
