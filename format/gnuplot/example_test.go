package gnuplot_test

import (
	"fmt"
	"strings"

	"meridian/clock"
	"meridian/format/gnuplot"
	"meridian/trace"
)

// The script is drawn with "gnuplot -p timeline.plot".
func ExampleNewWriter() {
	var script strings.Builder
	picture, err := gnuplot.NewWriter(&script, &trace.Schema{Title: "backup", Hosts: []string{"nas"},
		Streams: []trace.Stream{{Name: "rsync", Host: "nas", Kind: trace.Process}}, Classes: []trace.Class{{Name: "copy"}}}, gnuplot.Options{})
	if err != nil {
		fmt.Println(err)
	}
	events := []trace.TimelineEvent{{Event: trace.Event{Phase: trace.Begin}}, {Event: trace.Event{Phase: trace.End}, Time: clock.TimelineTime(2e9)}}
	for i := range events {
		err = picture.Write(&events[i])
	}
	if err == nil {
		err = picture.Close()
	}
	title, _, _ := strings.Cut(script.String()[strings.Index(script.String(), "set title"):], "\n")
	fmt.Println(title, err)
	// Output: set title 'backup'."\n".'2 events, 0 messages' noenhanced <nil>
}
