package main

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

func TestAnAgentSaysWhyItsBrokerCannotBeReached(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
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
