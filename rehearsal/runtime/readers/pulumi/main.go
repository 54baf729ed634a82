// Command pulumi reads a project and its stack files with the code of the Pulumi CLI, and says what the CLI would
// refuse.
//
//	pulumi FOLDER CLI-VERSION...
//
// FOLDER holds Pulumi.yaml. One problem a line on standard output; exit code 1 when there is one.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

func main() {
	problems := check(os.Args[1], os.Args[2:])
	for _, problem := range problems {
		fmt.Println(problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

// check does what every command of the CLI begins with (pkg/cmd/pulumi/operations/up.go).
func check(folder string, versions []string) []error {
	project, err := workspace.LoadProject(filepath.Join(folder, "Pulumi.yaml"))
	if err != nil {
		return []error{err}
	}
	var problems []error
	for _, version := range versions {
		if err := plugin.ValidatePulumiVersionRange(project.RequiredPulumiVersion, version); err != nil {
			problems = append(problems, err)
		}
	}
	stacks, err := filepath.Glob(filepath.Join(folder, project.StackConfigDir, "Pulumi.*.yaml"))
	if err != nil {
		return append(problems, err)
	}
	for _, stack := range stacks {
		if _, err := workspace.LoadProjectStack(nil, project, stack); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", filepath.Base(stack), err))
		}
	}
	return problems
}
