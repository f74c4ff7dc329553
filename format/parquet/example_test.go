package parquet_test

import (
	"bytes"
	"fmt"

	columns "github.com/parquet-go/parquet-go"

	"meridian/clock"
	"meridian/format/parquet"
	"meridian/trace"
)

// Readings of a counter, one row each.
func ExampleNewWriter() {
	var out bytes.Buffer
	w, err := parquet.NewWriter(&out, &trace.Schema{Hosts: []string{"db"},
		Streams: []trace.Stream{{Name: "cpu 0", Host: "db", Kind: trace.CPU}},
		Classes: []trace.Class{{Name: "load", Fields: []trace.Field{{Name: "percent", Type: trace.Type{Kind: trace.Float}}}}}}, parquet.Options{})
	for i := 0; i < 3 && err == nil; i++ {
		t := clock.TimelineTime(i) * 1_000_000_000
		err = w.Write(&trace.TimelineEvent{Event: trace.Event{Phase: trace.Counter}, Time: t, Low: t, High: t, Values: []trace.Value{trace.OfFloat(12.5)}})
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	file, err := columns.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	fmt.Println(file.NumRows(), "rows", err)
	// Output: 3 rows <nil>
}
