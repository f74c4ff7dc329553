package main

import (
	"strings"
	"testing"
)

func TestScreenReplacesAsManyLinesAsWereDrawn(t *testing.T) {
	var out strings.Builder
	s := &screen{out: &out, live: true, width: func() int { return 5 }}
	for _, text := range []string{"a\nµµµµµµµ\n", "b\nc\nd\n", "e\n"} {
		if err := s.draw(text); err != nil {
			t.Fatal(err)
		}
	}
	if want := "a\nµµµµµ\n" + "\x1b[2A\r\x1b[J" + "b\nc\nd\n" + "\x1b[3A\r\x1b[J" + "e\n"; out.String() != want {
		t.Errorf("%q, not %q", out.String(), want)
	}
}
