package show

import (
	"strings"
	"testing"
)

func TestConversionCountsOneAndThousands(t *testing.T) {
	one, many := int64(1), int64(1234)
	for _, c := range []struct {
		Conversion
		want string
	}{
		{Conversion{}, "0 events\n"},
		{Conversion{Events: 1}, "1 event\n"},
		{Conversion{Events: 1234, LeftOut: 1}, "1 234 events, 1 left out\n"},
		{Conversion{Packets: &one}, "1 packet\n"},
		{Conversion{Events: 1, Packets: &many}, "1 event; 1 234 packets\n"},
	} {
		var out strings.Builder
		if err := c.Table(&out); err != nil {
			t.Fatal(err)
		}
		if out.String() != c.want {
			t.Errorf("%q, want %q", out.String(), c.want)
		}
	}
}
