package perfetto

import (
	"bytes"
	"testing"

	"meridian/internal/eventtest"
)

// story is a timeline for tests.
type story struct{ eventtest.Story }

const start = 1_700_000_000_000_000_000

func newStory() *story { return &story{eventtest.Story{Start: start}} }

// write returns the file and what the writer had to change.
func (s *story) write(t eventtest.Fataler) ([]byte, Tally) {
	var out bytes.Buffer
	w, err := NewWriter(&out, &s.Schema)
	eventtest.Write(t, w, err, s.Events)
	return out.Bytes(), w.Tally()
}

func (s *story) save(t testing.TB) string {
	data, _ := s.write(t)
	return eventtest.Save(t, "timeline.pftrace", data)
}
