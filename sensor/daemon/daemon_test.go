package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

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
	answers := bufio.NewScanner(out)
	next := func() string {
		if !answers.Scan() {
			t.Fatalf("no answer: %v", answers.Err())
		}
		return answers.Text()
	}
	w := json.NewEncoder(in)
	want := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	want(next(), `{"waiting":["add","fail","hang"],"at":true}`)
	for i, sum := range []string{"2", "4"} {
		if err := w.Encode(Command{Start: i + 1, Phase: "add", With: map[string]any{"N": 2}}); err != nil {
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
		if err := w.Encode(json.RawMessage(call)); err != nil {
			t.Fatal(err)
		}
		want(next(), answer)
	}
	if err := w.Encode(Command{Start: 6, Phase: "hang"}); err != nil {
		t.Fatal(err)
	}
	in.Close() // the end
	want(next(), `{"failed":6,"error":"context canceled"}`)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWhatIsNoCommandEndsTheDaemon(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"x", "{}", `{"start":0,"phase":"a"}`, `{"start":"1"}`, `{"start":1,"phase":"` + strings.Repeat("x", MaxLine) + `"}`} {
		var out bytes.Buffer
		if err := Serve(context.Background(), strings.NewReader(line+"\n"), &out, map[string]Phase{"a": nil}); err == nil {
			t.Errorf("%.40s: no error", line)
		}
	}
}

// A result that cannot be written is a failure of the phase, and the daemon goes on.
func TestAResultThatIsNoLineFailsThePhase(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]any{"too long": strings.Repeat("x", MaxLine), "no JSON": make(chan int)} {
		in, commands := io.Pipe()
		out, answers := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- Serve(context.Background(), in, answers, map[string]Phase{"a": func(context.Context, *Call) (any, error) { return result, nil }})
			_ = answers.Close()
		}()
		lines := bufio.NewScanner(out)
		lines.Scan()
		_, _ = io.WriteString(commands, `{"start":1,"phase":"a"}`+"\n")
		if lines.Scan(); !strings.HasPrefix(lines.Text(), `{"failed":1,"error":"result: `) {
			t.Errorf("%s: %.80s", name, lines.Text())
		}
		_ = commands.Close()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHereIsWhatTheHostSays(t *testing.T) {
	for name, value := range map[string]string{
		"HOST": "a", "DAEMON": "d", "PLACE": "processes", "TRACE": "/t", "HOSTS": `{"a":"127.0.0.1","b":"10.0.0.2"}`,
	} {
		t.Setenv("MERIDIAN_RUN_"+name, value)
	}
	t.Setenv("MERIDIAN", "/rings")
	e, err := Here()
	if err != nil || e.Host != "a" || e.Daemon != "d" || e.Place != "processes" || e.Trace != "/t" || e.Rings != "/rings" {
		t.Fatalf("%+v, %v", e, err)
	}
	if a, err := e.Address("b"); a != "10.0.0.2" || err != nil {
		t.Errorf("%q, %v", a, err)
	}
	if _, err := e.Address("c"); err == nil {
		t.Error("an address of an unknown host")
	}
	t.Setenv("MERIDIAN_RUN_HOSTS", "")
	if _, err := Here(); err == nil {
		t.Error("an experiment without hosts")
	}
}
