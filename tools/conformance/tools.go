//go:build tools

// Package conformance pins Kubernetes' own end-to-end suite, which the night runs against a rehearsal.
package conformance

import (
	_ "github.com/onsi/ginkgo/v2/ginkgo"
	_ "k8s.io/kubernetes/test/e2e"
)
