package otlp_test

import (
	"fmt"
	"io"

	"meridian/format/otlp"
	"meridian/trace"
)

func ExampleRead() {
	spans, err := otlp.Read("testdata/example.json", new(trace.Warnings))
	if err != nil {
		fmt.Println(err)
		return
	}
	source, e := spans.Events(), trace.Event{}
	for source.Next(&e) != io.EOF {
		row := source.Streams()[e.Stream]
		fmt.Printf("%d %s/%s %s begins: %v\n", e.Time, row.Host, row.Name, source.Classes()[e.Class].Name, e.Phase == trace.Begin)
	}
	// Output:
	// 1729181197748657000 web/shop checkout begins: true
	// 1729181197750160000 web/shop checkout begins: false
}
