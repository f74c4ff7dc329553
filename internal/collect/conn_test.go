package collect_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/wire"
)

// A message that needs no answer comes, too: NATS's library refuses an empty reply. Agents without it told nothing after their first second.
func TestAMessageWithoutAReplyComes(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	c := wire.Over(l.connect())
	came := make(chan *nats.Msg, 2)
	if _, err := c.Subscribe("word", 0, func(m *nats.Msg) { came <- m }); err != nil {
		t.Fatal(err)
	}
	for _, reply := range []string{"", "answers"} {
		if err := c.PublishRequest("word", reply, []byte("text")); err != nil {
			t.Fatalf("reply %q: %v", reply, err)
		}
		select {
		case m := <-came:
			if m.Reply != reply || string(m.Data) != "text" {
				t.Errorf("reply %q: %q came, with reply %q", reply, m.Data, m.Reply)
			}
		case <-time.After(time.Minute):
			t.Fatalf("reply %q: nothing came", reply)
		}
	}
}
