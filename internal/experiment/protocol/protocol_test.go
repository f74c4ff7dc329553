package protocol

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestExactlyOneThingIsAnswered(t *testing.T) {
	t.Parallel()
	for line, good := range map[string]bool{
		`{"waiting":["a"]}`:        true,
		`{"waiting":[]}`:           false,
		`{"done":3}`:               true,
		`{"done":3,"result":[1]}`:  true,
		`{"failed":3,"error":"x"}`: true,
		`{"log":""}`:               true,
		`{}`:                       false,
		`{"done":3,"failed":3}`:    false,
		`{"done":"3"}`:             false,
		`{`:                        false,
		`{"what":1}`:               false,
	} {
		if _, err := ParseAnswer([]byte(line)); (err == nil) != good {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestALineThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := NewLines(strings.NewReader(strings.Repeat("x", MaxLine+2))).Next(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("read: %v", err)
	}
	var b bytes.Buffer
	if err := NewWriter(&b).Write(strings.Repeat("x", MaxLine)); err == nil || b.Len() > 0 {
		t.Errorf("written: %v", err)
	}
}
