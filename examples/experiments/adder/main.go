// Command adder is a daemon of an experiment in Go: it adds what its phase add is given, and keeps the sum between phases.
package main

import (
	"context"
	"fmt"
	"os"

	"meridian/sensor/daemon"
)

func main() {
	sum := 0
	err := daemon.Main(map[string]daemon.Phase{
		"add": func(_ context.Context, c *daemon.Call) (any, error) {
			var with struct{ N int }
			if err := c.Bind(&with); err != nil {
				return nil, err
			}
			sum += with.N
			return map[string]int{"sum": sum}, nil
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "adder:", err)
		os.Exit(1)
	}
}
