package host

import (
	"bytes"
	"context"
	"testing"

	"meridian/internal/experiment/protocol"
	"meridian/internal/testseed"
)

// FuzzReadOrders reads what a controller says to a host. Reading ends, with an order a line at most.
func FuzzReadOrders(f *testing.F) {
	f.Add([]byte("{\"setup\":{\"version\":1,\"host\":\"a\",\"network\":[\"link add a type dummy\"]}}\n{\"clock\":1}\n"))
	f.Add([]byte("{\"setup\":7}\n"))
	f.Add([]byte("{"))
	f.Add([]byte("null\n"))
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		orders := make(chan *protocol.Order, len(data)+1)
		err := readOrders(context.Background(), bytes.NewReader(data), orders)
		close(orders)
		n := 0
		for o := range orders {
			if n++; o == nil {
				t.Error("an order that is none")
			}
		}
		if lines := bytes.Count(data, []byte("\n")) + 1; n > lines || err == nil && n == 0 && len(bytes.TrimSpace(data)) > 0 {
			t.Errorf("%d orders of %d lines, %v", n, lines, err)
		}
	})
}
