package protocol

import (
	"bytes"
	"context"
	"encoding/json"
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

func TestADaemonKeepsItsStateAndAnswersEachCall(t *testing.T) {
	t.Parallel()
	toDaemon, in := io.Pipe()
	out, fromDaemon := io.Pipe()
	ended := make(chan error, 1)
	sum := 0
	go func() {
		ended <- Serve(context.Background(), toDaemon, fromDaemon, map[string]Phase{
			"add": func(_ context.Context, c *Call) (any, error) {
				var with struct{ N int }
				if err := c.Bind(&with); err != nil {
					return nil, err
				}
				c.Logf("adds %d", with.N)
				sum += with.N
				return map[string]int{"sum": sum}, nil
			},
			"fail": func(context.Context, *Call) (any, error) { return nil, errors.New("as planned") },
			"hang": func(ctx context.Context, _ *Call) (any, error) { <-ctx.Done(); return nil, ctx.Err() },
		})
		fromDaemon.Close()
	}()
	answers := NewLines(out)
	next := func() string {
		line, err := answers.Next()
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	w := NewWriter(in)
	want := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	want(next(), `{"waiting":["add","fail","hang"],"at":true}`)
	for i, sum := range []string{"2", "4"} {
		if err := w.Write(Command{Start: i + 1, Phase: "add", With: map[string]any{"N": 2}}); err != nil {
			t.Fatal(err)
		}
		want(next(), `{"log":"adds 2"}`)
		want(next(), `{"done":`+string(rune('1'+i))+`,"result":{"sum":`+sum+`}}`)
	}
	for call, answer := range map[string]string{
		`{"start":3,"phase":"fail"}`:                  `{"failed":3,"error":"as planned"}`,
		`{"start":4,"phase":"none"}`:                  `{"failed":4,"error":"unknown phase \"none\""}`,
		`{"start":5,"phase":"add","with":{"what":1}}`: `{"failed":5,"error":"json: unknown field \"what\""}`,
	} {
		if err := w.Write(json.RawMessage(call)); err != nil {
			t.Fatal(err)
		}
		want(next(), answer)
	}
	if err := w.Write(Command{Start: 6, Phase: "hang"}); err != nil {
		t.Fatal(err)
	}
	in.Close() // the end
	want(next(), `{"failed":6,"error":"context canceled"}`)
	if err := <-ended; err != nil {
		t.Error(err)
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
