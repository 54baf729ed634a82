//go:build tools

// Package tools pins actionlint, which checks the workflows. It is a module of its own so that a change here does not touch the programs of
// the rehearsal.
package tools

import _ "github.com/rhysd/actionlint/cmd/actionlint"
