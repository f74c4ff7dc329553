package jaeger_test

import (
	"fmt"
	"log"

	"meridian/format/jaeger"
	"meridian/trace"
)

// The ends of messages that the spans tell of, from which clocks are aligned.
func ExampleRead() {
	file, err := jaeger.Read("testdata/example.json", new(trace.Warnings))
	if err != nil {
		log.Fatal(err)
	}
	marks := file.Marks()
	for _, m := range marks.Marks {
		fmt.Println(m.Time, marks.Hosts[m.Host], m.Role == trace.Sends)
	}
	// Output:
	// 1729181197748657000 front true
	// 1729181197750161000 front false
	// 1729181197749000000 back false
	// 1729181197750000000 back true
}
