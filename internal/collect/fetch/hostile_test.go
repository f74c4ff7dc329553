package fetch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"meridian/internal/collect/broker"
	"meridian/internal/collect/fetch"
	"meridian/internal/collect/wire"
	"meridian/internal/filetest"
)

// A server may be damaged, older, or somebody else's: what it gives for a range must be that range, and what is refused leaves no trace
// behind that looks whole.
func TestAServerThatAnswersSomethingElseIsRefused(t *testing.T) {
	l := newLab(t)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	chunk := func(c wire.Chunk, compress wire.Compressor) []byte { return c.Append(nil, compress) }
	good := wire.Chunk{Kind: wire.Data, Session: "night", File: "kernel_1_0", Data: []byte("abcdefgh")}
	with := func(change func(c *wire.Chunk)) wire.Chunk {
		c := good
		change(&c)
		return c
	}
	var answer func(m *nats.Msg)
	sub, err := l.ask.Subscribe(wire.ReadFrom("evil"), func(m *nats.Msg) { answer(m) })
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	bytesOf := func(b []byte) func(m *nats.Msg) { return func(m *nats.Msg) { _ = m.Respond(b) } }
	for name, test := range map[string]struct {
		answer func(m *nats.Msg)
		says   string
	}{
		"nothing":            {bytesOf(nil), "no chunk"},
		"another session":    {bytesOf(chunk(with(func(c *wire.Chunk) { c.Session = "day" }), nil)), ""},
		"another file":       {bytesOf(chunk(with(func(c *wire.Chunk) { c.File = "kernel_1_1" }), nil)), ""},
		"another offset":     {bytesOf(chunk(with(func(c *wire.Chunk) { c.Offset = 4 }), nil)), ""},
		"a cut":              {bytesOf(chunk(with(func(c *wire.Chunk) { c.Kind, c.Data = wire.Cut, nil }), nil)), ""},
		"more than is asked": {bytesOf(chunk(with(func(c *wire.Chunk) { c.Data = make([]byte, 9) }), nil)), ""},
		"less than it said":  {bytesOf(chunk(with(func(c *wire.Chunk) { c.Data = []byte("abc") }), nil)), "less of it than it said"},
		"compressed":         {bytesOf(chunk(with(func(c *wire.Chunk) { c.Data = make([]byte, 8000) }), z)), ""},
		"half of it":         {bytesOf(chunk(good, nil)[:20]), "no chunk"},
		"an error": {func(m *nats.Msg) {
			out := nats.NewMsg(m.Reply)
			out.Header.Set(micro.ErrorHeader, "the disk is broken")
			_ = m.RespondMsg(out)
		}, "server evil: the disk is broken"},
	} {
		answer = test.answer
		h := fetch.Host{Conn: l.ask, Session: "night", Name: "web", Out: l.out, Log: t.Logf, Told: func(_, _ int64) {}, Lists: []wire.FileList{{Version: wire.Version, Server: "evil", Trace: "uuid-1",
			Files: []wire.State{{Name: "kernel_1_0", Have: 8}, {Name: "metadata", Have: 3}}}}}
		if _, err := h.Run(context.Background()); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(l.out, "web")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a trace is there", name)
		}
	}
	for name, files := range map[string][]wire.State{
		"no metadata":         {{Name: "kernel_1_0", Have: 8}},
		"a name that leaves":  {{Name: "../kernel_1_0", Have: 8}, {Name: "metadata", Have: 3}},
		"a name of our own":   {{Name: ".trace", Have: 8}, {Name: "metadata", Have: 3}},
		"a directory of none": {{Name: "a/b", Have: 8}, {Name: "metadata", Have: 3}},
	} {
		answer = bytesOf(nil)
		h := fetch.Host{Conn: l.ask, Session: "night", Name: "web", Out: l.out, Log: t.Logf, Told: func(_, _ int64) {}, Lists: []wire.FileList{{Version: wire.Version, Server: "evil", Trace: "uuid-1", Files: files}}}
		if _, err := h.Run(context.Background()); err == nil {
			t.Errorf("%s is fetched", name)
		}
	}
}

// The directory here may not be one that can be written: that is said, and nothing is half there.
func TestWhatCannotBeWrittenHereIsSaid(t *testing.T) {
	l := newLab(t)
	l.out = filepath.Join(l.out, "file")
	if err := os.WriteFile(l.out, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.fetch(1 << 40); err == nil || !strings.Contains(err.Error(), l.out) {
		t.Error(err)
	}
}

// A trace without captures has no folder of them here either; a broker that permits too small messages for a chunk is named as the cause.
func TestATraceWithoutPacketsAndABrokerOfSmallMessages(t *testing.T) {
	l := newLab(t)
	host := filepath.Join(l.dir, "bare", "web")
	if err := errors.Join(os.MkdirAll(host, 0o700), os.WriteFile(filepath.Join(host, "kernel_1_0"), []byte("abcdefgh"), 0o600),
		os.WriteFile(filepath.Join(host, "metadata"), []byte("/* CTF 1.8 */"), 0o600)); err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "small", Limits: broker.Limits{Message: 4000}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	small, err := nats.Connect(b.URL(), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer small.Close()
	h := fetch.Host{Conn: small, Session: "bare", Name: "web", Out: l.out, Log: t.Logf, Told: func(_, _ int64) {}, Lists: []wire.FileList{{Version: wire.Version, Server: "s", Trace: "uuid-3",
		Files: []wire.State{{Name: "kernel_1_0", Have: 8}, {Name: "metadata", Have: 13}}}}}
	if _, err := h.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "max_payload") {
		t.Error(err)
	}
	h.Conn = l.ask
	if _, err := h.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names := filetest.Names(t, filepath.Join(l.out, "web")); slices.Contains(names, "packets") || !slices.Contains(names, "kernel_1_0") {
		t.Errorf("%q", names)
	}
}
