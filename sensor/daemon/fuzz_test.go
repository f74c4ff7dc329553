package daemon

import (
	"bytes"
	"context"
	"testing"
)

// FuzzReadCommands reads what a host says to a daemon. Each command that is handed on has an instant to start at; reading ends.
func FuzzReadCommands(f *testing.F) {
	f.Add([]byte("{\"start\":1,\"phase\":\"warm\",\"with\":{\"n\":3}}\n{\"start\":2}\n"))
	f.Add([]byte("{\"start\":-1}\n"))
	f.Add([]byte("{\"start\":1"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		commands := make(chan Command, len(data)+1)
		err := readCommands(context.Background(), bytes.NewReader(data), commands)
		close(commands)
		n := 0
		for c := range commands {
			if n++; c.Start <= 0 {
				t.Errorf("%+v", c)
			}
		}
		if lines := bytes.Count(data, []byte("\n")) + 1; n > lines || err == nil && len(bytes.TrimSpace(data)) > 0 && n == 0 {
			t.Errorf("%d commands of %d lines, %v", n, lines, err)
		}
	})
}
