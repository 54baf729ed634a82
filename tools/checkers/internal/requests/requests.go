// Package requests is what the checkers read and answer: JSON on standard input and output.
package requests

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// Request is one file to check.
type Request struct {
	// ID comes back with the answer.
	ID string `json:"id"`
	// OS of the machine that reads the file: "linux" or "windows". It need not be the system that the checker runs on.
	OS string `json:"os"`
	// Text of the file.
	Text string `json:"text"`
}

// Answer tells what is wrong with one file.
type Answer struct {
	ID string `json:"id"`
	// Problems is empty, never null, when the file is fine.
	Problems []string `json:"problems"`
}

// Serve answers every request of standard input in its order, and ends the process: exit code 0 also when files have problems, 1 when the
// requests cannot be read.
func Serve(check func(Request) []string) {
	if err := serve(os.Stdin, os.Stdout, check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer, check func(Request) []string) error {
	var list []Request
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		return fmt.Errorf("the requests are not what a checker reads: %w", err)
	}
	answers := make([]Answer, 0, len(list))
	for _, request := range list {
		if request.OS != "linux" && request.OS != "windows" {
			return fmt.Errorf("request %q: os is %q, allowed are linux and windows", request.ID, request.OS)
		}
		problems := check(request)
		if problems == nil {
			problems = []string{}
		}
		answers = append(answers, Answer{ID: request.ID, Problems: problems})
	}
	return json.NewEncoder(out).Encode(answers)
}
