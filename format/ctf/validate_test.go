package ctf

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"meridian/trace"
)

func TestArgumentsAreValidated(t *testing.T) {
	m := usualMetadata()
	var out bytes.Buffer
	wide := usualMetadata()
	wide.Streams[0].EventContext = structType(Field{"n", with(integerType(8), func(t *Type) { t.Slot = 1 << 40 })})
	dir := filepath.Join(t.TempDir(), "out")
	for want, err := range map[string]error{
		"missing metadata":       errorOf(NewEncoder(nil).NewStream(&out, 0, StreamOptions{})),
		"or destination":         errorOf(NewEncoder(m).NewStream(nil, 0, StreamOptions{})),
		"stream class with":      errorOf(NewEncoder(m).NewStream(&out, 7, StreamOptions{})),
		"packet size of":         errorOf(NewEncoder(m).NewStream(&out, 0, StreamOptions{PacketSize: 1 << 40})),
		"invalid field ref":      errorOf(NewEncoder(wide).NewStream(&out, 0, StreamOptions{})),
		"metadata or class":      errorOf(NewEncoder(m).Declare(0, nil)),
		"count of context":       errorOf(NewEncoder(m).Declare(0, &trace.Class{Context: 1})),
		"missing schema":         errorOf(NewWriter(dir, nil, WriterOptions{})),
		"bytes exceeds 10737418": errorOf(NewWriter(dir, &trace.Schema{}, WriterOptions{PacketSize: 1 << 40})),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func errorOf[T any](_ T, err error) error { return err }

func TestAReaderWithoutAnEventHasNoFields(t *testing.T) {
	m := metadataOf(t, smallTSDL)
	tr := openTrace(t, nil, smallTSDL, smallStream(t, m, 10, 4096, false, 0))
	r := tr.Streams[0].Reader()
	check := func() {
		t.Helper()
		for s := PacketHeaderScope; s <= PayloadScope+1; s++ {
			if kind, v := r.Fields(s); kind != nil || v != nil {
				t.Errorf("scope %d: %v", s, v)
			}
		}
		if c, s := r.Class(); c != nil || s != nil || r.Values() != nil {
			t.Error("a class or values without an event")
		}
	}
	check()
	if err := r.Next(); err != nil || r.Values() == nil {
		t.Fatal(err)
	}
	tr.Close()
	check()
	if w := NewTextWriter(&bytes.Buffer{}, tr.Events(), nil); w.Event() == nil {
		t.Error("printed an event that is not there")
	}
}
