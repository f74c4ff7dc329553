package text

import (
	"strings"
	"testing"
)

func TestAMarkOfAFileThatWasAppendedIsNoPartOfAName(t *testing.T) {
	l := NewLines(strings.NewReader("\ufeffa 1\n\ufeffb 2\n"))
	for _, want := range []string{"a 1", "b 2"} {
		if line, whole, err := l.Next(); err != nil || !whole || string(line) != want {
			t.Errorf("%q, %t, %v; want %q", line, whole, err, want)
		}
	}
	if ValidName([]byte("\ufeffa")) || !ValidName([]byte("a\ufeff")) {
		t.Error("a name that begins with a mark would lose it where it is written and read again")
	}
}
