package main

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// TestAnEmptyPipeTakesAllItHoldsAtOnce has no reader: what is written beyond the size of the pipe would wait for ever.
func TestAnEmptyPipeTakesAllItHoldsAtOnce(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	out, _ := newLineOutput(t.Context(), w)
	o := out.(*lineOutput)
	var rooms []int
	wait := o.ready
	o.ready = func(d time.Duration) (int, error) {
		room, err := wait(d)
		rooms = append(rooms, room)
		return room, err
	}
	size := roomOfEmpty(int(w.Fd()))
	line := append(bytes.Repeat([]byte("x"), 15), '\n')
	if _, err := out.Write(bytes.Repeat(line, size/len(line))); err != nil {
		t.Fatal(err)
	}
	if size < pipeRoom || len(rooms) != 1 || rooms[0] != size {
		t.Errorf("a pipe of %d bytes was written to in parts of %v", size, rooms)
	}
	if room, err := roomOf(w, 0); room != 0 || err != nil {
		t.Errorf("a full pipe takes %d bytes, error %v", room, err)
	}
	if _, err := r.Read(make([]byte, pipeRoom)); err != nil {
		t.Fatal(err)
	}
	if room, err := roomOf(w, 0); room != pipeRoom || err != nil {
		t.Errorf("a pipe of which a page was read takes %d bytes, error %v", room, err)
	}
}
