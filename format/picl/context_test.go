package picl_test

import (
	"io"
	"testing"

	"meridian/format/picl"
	"meridian/trace"
)

func TestAnEventOfAClassWithTooManyContextFieldsIsAnError(t *testing.T) {
	for _, context := range []int{-1, 1} {
		s := &trace.Schema{
			Hosts:   []string{"web"},
			Streams: []trace.Stream{{Name: "nginx", Host: "web", Parent: -1}},
			Classes: []trace.Class{{Name: "request", Context: context}},
		}
		w, err := picl.NewWriter(io.Discard, s, picl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if w.Write(&trace.TimelineEvent{Map: -1}) == nil {
			t.Errorf("%d context fields of none: no error", context)
		}
	}
}
