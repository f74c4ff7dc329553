// Command meridian-demo is `meridian demo` alone: it compiles in half the time. It takes no flags; `meridian demo --help` has some.
//
//	go run ./cmd/meridian-demo
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"meridian/internal/demo"
)

// duration is how long the hosts talk.
const duration = 5 * time.Second

// Exit codes are those of meridian.
const (
	failed = 1
	usage  = 2
	broken = 3
)

func main() {
	// After the first signal the default returns, so that a second one kills.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	switch {
	case slices.Equal(args, demo.Command):
		return exitCode(demo.Host(ctx, os.Stdin, os.Stdout))
	case len(args) > 0:
		fmt.Fprintln(os.Stderr, "meridian-demo: takes no arguments; see 'meridian demo --help'")
		return usage
	}
	result, err := demo.Run(ctx, demo.Options{Duration: duration, Seed: 1, Started: func(hosts string) {
		fmt.Printf("%s talk over TCP for %v, each with a clock of its own that is wrong.\n", hosts, duration)
	}})
	if err != nil {
		return exitCode(err)
	}
	for _, line := range result.Report.Warnings {
		fmt.Fprintln(os.Stderr, "meridian-demo: warning:", line)
	}
	if err := result.Print(os.Stdout); err != nil {
		return exitCode(err)
	}
	if len(result.Broken) > 0 {
		fmt.Fprintln(os.Stderr, "meridian-demo:", strings.Join(result.Broken, "; "))
		return broken
	}
	return 0
}

// exitCode prints an error, if there is one, and returns the exit code.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "meridian-demo:", err)
	return failed
}
