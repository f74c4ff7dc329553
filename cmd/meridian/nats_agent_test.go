package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAnAgentSaysWhyItsBrokerCannotBeReached(t *testing.T) {
	defer func(before time.Duration) { reachWithin = before }(reachWithin)
	reachWithin = time.Minute    // until a busy machine has made all attempts
	const closed = "127.0.0.1:1" // tcpmux, which nobody serves
	for _, c := range []struct{ urls, want string }{
		{"nats://" + closed, "cannot be reached yet (connection refused): what is recorded"},
		{"nats://nosuchhost.invalid:4222", "cannot be reached yet (lookup nosuchhost.invalid"},
		{"nats://" + closed + ",nats://" + closed, "(dial tcp " + closed + ": "}, // which of them
	} {
		var said []string
		a, err := connectAsHost(c.urls, "web", nil, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
		if err != nil {
			t.Fatal(err)
		}
		a.Close()
		if text := strings.Join(said, "\n"); !strings.Contains(text, c.want) {
			t.Errorf("%s: it says %q, want %q", c.urls, text, c.want)
		}
	}
}
