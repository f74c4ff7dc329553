//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

// numberedLines are lines of several lengths, some 600 KiB: more than a pipe holds.
func numberedLines() []byte {
	var b bytes.Buffer
	for i := range 6000 {
		fmt.Fprintf(&b, "%d %s\n", i, bytes.Repeat([]byte("x"), i%200))
	}
	return b.Bytes()
}

// TestAnInterruptEndsTheOutputAtALineThoughNobodyReadsIt writes into a pipe that is full, and interrupts.
func TestAnInterruptEndsTheOutputAtALineThoughNobodyReadsIt(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	out, _ := newLineOutput(ctx, w)
	o, ok := out.(*lineOutput)
	if !ok {
		t.Fatalf("a pipe is written to as %T", out)
	}
	full, wait, passed := 0, o.ready, time.Unix(5, 0)
	o.ready = func(time.Duration) (int, error) {
		room, err := wait(0)
		if room == 0 {
			if full++; full == 3 {
				interrupt()
			}
		}
		return room, err
	}
	o.now = func() time.Time { passed = passed.Add(readerPatience / 4); return passed }
	all := numberedLines()
	if _, err := o.Write(all); !errors.Is(err, errNotRead) {
		t.Fatalf("error %v", err)
	}
	if full < 6 || full > 10 {
		t.Errorf("%d looks at a full pipe", full)
	}
	w.Close()
	got, err := io.ReadAll(r)
	if err != nil || len(got) == 0 || !bytes.HasPrefix(all, got) || got[len(got)-1] != '\n' {
		t.Errorf("%d bytes were printed that end in %q, error %v", len(got), got[max(0, len(got)-20):], err)
	}
}

// TestAReaderGetsAllLinesWhateverPartsTheyComeIn interrupts at the begin: a reader that reads on still gets everything.
func TestAReaderGetsAllLinesWhateverPartsTheyComeIn(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	out, flush := newLineOutput(ctx, w)
	all := append(numberedLines(), bytes.Repeat([]byte("y"), 3*pipeRoom)...) // the last line is long, and has no end
	written := make(chan error, 1)
	go func() {
		defer w.Close()
		for rest := all; len(rest) > 0; {
			n := min(len(rest), 1+len(rest)%9973)
			if _, err := out.Write(rest[:n]); err != nil {
				written <- err
				return
			}
			rest = rest[n:]
		}
		written <- flush()
	}()
	got, err := io.ReadAll(r)
	if writing := <-written; err != nil || writing != nil || !bytes.Equal(got, all) {
		t.Errorf("%d of %d bytes came, errors %v, %v", len(got), len(all), err, writing)
	}
}
