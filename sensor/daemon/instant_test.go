package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

func TestSleepEndsAtItsInstantAndNeverBefore(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, time.Millisecond, lastPart + 10*time.Millisecond} {
		at := Monotonic() + int64(ahead)
		SleepUntil(t.Context(), at)
		if early := at - Monotonic(); early > 0 {
			t.Errorf("%v ahead: it returns %d ns early", ahead, early)
		}
	}
}

func TestSleepToAnImpossibleInstantReturnsAtOnce(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	now := Monotonic()
	for name, at := range map[string]int64{"none": 0, "past": now - 1, "negative": -1 << 63, "too far": now + 100*int64(LongestLead), "farthest": 1<<63 - 1} {
		began := Monotonic()
		SleepUntil(t.Context(), at)
		if took := Monotonic() - began; took > int64(LongestLead) {
			t.Errorf("%s: it took %d ns", name, took)
		}
	}
	at := Monotonic() + int64(LongestLead) - int64(100*time.Millisecond)
	SleepUntil(cancelled, at)
	if Monotonic() >= at {
		t.Error("it slept although its context had ended")
	}
}

// TestAPhaseBeginsAtItsInstant gives a daemon a phase early.
func TestAPhaseBeginsAtItsInstant(t *testing.T) {
	t.Parallel()
	at := Monotonic() + int64(50*time.Millisecond)
	line, _ := json.Marshal(Command{Start: 1, AtNs: at, Phase: "look"})
	var out bytes.Buffer
	began := int64(0)
	in := &oneLine{line: append(line, '\n'), until: make(chan struct{})}
	err := Serve(t.Context(), in, &out, map[string]Phase{"look": func(context.Context, *Call) (any, error) {
		began = Monotonic()
		close(in.until)
		return nil, nil
	}})
	if err != nil || began < at || !strings.HasPrefix(out.String(), `{"waiting":["look"],"at":true}`) {
		t.Errorf("%v, %d ns after its instant\n%s", err, began-at, out.String())
	}
}

// oneLine is an input of one line, which ends when told to.
type oneLine struct {
	line  []byte
	until chan struct{}
}

func (r *oneLine) Read(b []byte) (int, error) {
	n := copy(b, r.line)
	if r.line = r.line[n:]; n > 0 {
		return n, nil
	}
	<-r.until
	return 0, io.EOF
}
