package daemon_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"meridian/sensor/daemon"
)

// A daemon with one phase, which keeps its sum between calls. In an experiment its input and output are those of the process: use Main.
func ExampleServe() {
	sum := 0
	commands := strings.NewReader(`{"start":1,"phase":"add","with":{"n":2}}` + "\n")
	err := daemon.Serve(context.Background(), commands, os.Stdout, map[string]daemon.Phase{
		"add": func(_ context.Context, c *daemon.Call) (any, error) {
			var with struct{ N int }
			if err := c.Bind(&with); err != nil {
				return nil, err
			}
			sum += with.N
			return map[string]int{"sum": sum}, nil
		},
	})
	fmt.Println(err)
	// Output:
	// {"waiting":["add"],"at":true}
	// {"done":1,"result":{"sum":2}}
	// <nil>
}
