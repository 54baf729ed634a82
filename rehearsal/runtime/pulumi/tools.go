//go:build tools

// Package pulumi pins the newest CLI that can be built from modules; its language host for Node is none.
package pulumi

import _ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
