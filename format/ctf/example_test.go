package ctf_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/trace"
)

// requests writes a small timeline with two events of a class and returns the trace of its host.
func requests() (dir string, remove func()) {
	parent, err := os.MkdirTemp("", "ctf")
	if err != nil {
		log.Fatal(err)
	}
	schema := &trace.Schema{
		Hosts:   []string{"web"},
		Streams: []trace.Stream{{Name: "worker", Kind: trace.Thread, ID: 17, Parent: -1}},
		Classes: []trace.Class{{Name: "request", Fields: []trace.Field{
			{Name: "path", Type: trace.Type{Kind: trace.Text}},
			{Name: "bytes", Type: trace.Type{Kind: trace.Uint, Bits: 32}},
		}}},
	}
	w, err := ctf.NewWriter(filepath.Join(parent, "timeline"), schema, ctf.WriterOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for i, path := range []string{"/", "/cart"} {
		e := trace.TimelineEvent{Values: []trace.Value{trace.OfText(path), trace.OfUint(uint64(100 * (i + 1)))}}
		e.Time = clock.TimelineTime(1_700_000_000_000_000_000 + i*1500)
		if err := w.Write(&e); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	return filepath.Join(parent, "timeline", "web"), func() { os.RemoveAll(parent) }
}

// The events of all streams, merged by time, with all their fields.
func ExampleTrace_Events() {
	dir, remove := requests()
	defer remove()

	var warnings trace.Warnings
	t, err := ctf.Open(dir, &warnings)
	if err != nil {
		log.Fatal(err)
	}
	events := t.Events()
	defer events.Close()
	for {
		var e trace.Event
		if err := events.Next(&e); err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		class := events.Classes()[e.Class]
		fmt.Printf("%d %s %s", e.Time, events.Streams()[e.Stream].Name, class.Name)
		for i, v := range events.Values() {
			fmt.Printf(" %s=%s", class.Fields[i].Name, v.Append(nil, &class.Fields[i].Type))
		}
		fmt.Println()
	}
	for _, line := range warnings.Lines() {
		fmt.Println(line) // damaged packets, discarded events
	}
	// Output:
	// 1700000000000000000 worker request path=/ bytes=100
	// 1700000000000001500 worker request path=/cart bytes=200
}

// One stream without merging, and of its events only the payload: Next alone decodes no fields.
func ExampleReader_Fields() {
	dir, remove := requests()
	defer remove()

	t, err := ctf.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	total := uint64(0)
	for _, stream := range t.Streams {
		for r := stream.Reader(); r.Next() == nil; {
			if class, _ := r.Class(); class.Name != "request" {
				continue
			}
			_, payload := r.Fields(ctf.PayloadScope)
			total += payload[1].Uint()
		}
	}
	fmt.Println(total, "bytes")
	// Output: 300 bytes
}

// A timeline: a trace for each host. The class of an event names its fields.
func ExampleWriter() {
	dir, err := os.MkdirTemp("", "ctf")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	schema := &trace.Schema{
		Hosts:   []string{"web", "db"},
		Streams: []trace.Stream{{Name: "worker", Parent: -1}, {Name: "query", Parent: -1}},
		Classes: []trace.Class{{Name: "work", Fields: []trace.Field{{Name: "items", Type: trace.Type{Kind: trace.Int}}}}},
	}
	w, err := ctf.NewWriter(filepath.Join(dir, "timeline"), schema, ctf.WriterOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort() // does nothing after Close
	for i := range 4 {
		e := trace.TimelineEvent{Host: i % 2, Event: trace.Event{Stream: i % 2}, Values: []trace.Value{trace.OfInt(int64(i))}}
		e.Time = clock.TimelineTime(1000 * i)
		if err := w.Write(&e); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	traces, err := ctf.Find(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range traces {
		fmt.Println(filepath.Base(t))
	}
	fmt.Println(w.Stats().Events, "events")
	// Output:
	// db
	// web
	// 4 events
}

// One stream of a metadata of your own: event classes are declared as the streams need them.
func ExampleEncoder() {
	m, err := ctf.ParseMetadata([]byte(`/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000000; };
stream {
	event.header := struct {
		integer { size = 16; align = 8; } id;
		integer { size = 64; align = 8; map = clock.c.value; } timestamp;
	};
};`), "metadata", nil)
	if err != nil {
		log.Fatal(err)
	}
	encoder := ctf.NewEncoder(m)
	class, err := encoder.Declare(0, &trace.Class{Name: "work", Fields: []trace.Field{
		{Name: "items", Type: trace.Type{Kind: trace.Uint, Bits: 8}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	m.Streams[0].Events = append(m.Streams[0].Events, class)

	var stream, metadata bytes.Buffer
	s, err := encoder.NewStream(&stream, 0, ctf.StreamOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for i := range 3 {
		if err := s.Write(0, uint64(1000*i), nil, nil, []trace.Value{trace.OfUint(uint64(i))}); err != nil {
			log.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		log.Fatal(err)
	}
	if err := m.WriteTSDL(&metadata); err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Events, "events in", stream.Len(), "bytes")
	// Output: 3 events in 33 bytes
}

// Events as babeltrace2 prints them.
func ExampleTextWriter() {
	dir, remove := requests()
	defer remove()

	t, err := ctf.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	events := t.Events()
	defer events.Close()
	if err := ctf.NewTextWriter(os.Stdout, events, time.UTC).All(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// [22:13:20.000000000] (+?.?????????) web request: { row = "worker", row_kind = "thread", row_id = 17 }, { path = "/", bytes = 100 }
	// [22:13:20.000001500] (+0.000001500) web request: { row = "worker", row_kind = "thread", row_id = 17 }, { path = "/cart", bytes = 200 }
}

// What is wrong with metadata is reported by file and line, and costs no more than the declaration that has it.
func ExampleParseMetadata() {
	var warnings trace.Warnings
	m, err := ctf.ParseMetadata([]byte(`/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
stream { };
event { name = "a"; id = 0; };
event { name = "b"; id = 1; fields := struct { uint32_t n; }; };
`), "metadata", &warnings)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(m.Streams[0].Events), "event class")
	for _, line := range warnings.Lines() {
		fmt.Println(line)
	}
	// Output:
	// 1 event class
	// metadata: invalid declaration skipped (5: undeclared type "uint32_t")
}
