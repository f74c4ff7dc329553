package chrome_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"meridian/format/chrome"
	"meridian/trace"
)

// A slice of one thread, from 1 µs to 3 µs after the second in which the trace begins.
func ExampleNewWriter() {
	w, err := chrome.NewWriter(os.Stdout, &trace.Schema{
		Hosts:   []string{"web"},
		Streams: []trace.Stream{{Name: "worker", Host: "web", Kind: trace.Thread, ID: 13, Parent: -1}},
		Classes: []trace.Class{{Name: "request", Fields: []trace.Field{{Name: "path", Type: trace.Type{Kind: trace.Text}}}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	begin := trace.TimelineEvent{Event: trace.Event{Time: 1000, Phase: trace.Begin}, Time: 1000, Low: 1000, High: 1000}
	begin.Values = []trace.Value{trace.OfText("/index.html")}
	end := trace.TimelineEvent{Event: trace.Event{Time: 3000, Phase: trace.End}, Time: 3000, Low: 3000, High: 3000}
	if err := errors.Join(w.Write(&begin), w.Write(&end), w.Close()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// {"displayTimeUnit":"ns","baseTimeNanoseconds":0,"otherData":{"writer":"meridian","origin_ns":"0"},"traceEvents":[
	// {"ph":"M","name":"process_name","pid":1,"args":{"name":"web"}},
	// {"ph":"M","name":"process_sort_index","pid":1,"args":{"sort_index":0}},
	// {"ph":"M","name":"thread_name","pid":1,"tid":1000001,"args":{"name":"worker","kind":"thread","id":13}},
	// {"ph":"M","name":"thread_sort_index","pid":1,"tid":1000001,"args":{"sort_index":50331648}},
	// {"ph":"B","name":"request","pid":1,"tid":1000001,"ts":1.000,"args":{"path":"/index.html"}},
	// {"ph":"E","name":"request","pid":1,"tid":1000001,"ts":3.000}
	// ]}
}

func ExampleRead() {
	var warnings trace.Warnings
	file, err := chrome.Read("testdata/example.json", &warnings)
	if err != nil {
		log.Fatal(err)
	}
	events := file.Events()
	defer events.Close()
	var e trace.Event
	for err = events.Next(&e); err == nil; err = events.Next(&e) {
		fmt.Println(e.Time, events.Streams()[e.Stream].Name, events.Classes()[e.Class].Name, e.Phase == trace.Begin)
	}
	if err != io.EOF {
		log.Fatal(err)
	}
	// Output:
	// 1000 thread 8 parse true
	// 1250 thread 8 link true
	// 2250 thread 8 link false
	// 3000 thread 8 parse false
}
