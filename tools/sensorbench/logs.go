package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// rewound runs, and goes back to the start of a file afterwards: whoever writes into pages that are there already, as a
// ring's are, pays least.
func rewound(f *os.File, run func(int) (time.Duration, error)) func(int) (time.Duration, error) {
	return func(n int) (time.Duration, error) {
		took, err := run(n)
		if err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		return took, err
	}
}

// timed measures what n calls of a function with the numbers from 0 take.
func timed(note func(i int64)) func(n int) (time.Duration, error) {
	return func(n int) (time.Duration, error) {
		start := time.Now()
		for i := range int64(n) {
			note(i)
		}
		return time.Since(start), nil
	}
}

// logs are the loggers that people use, each into nothing and into a file through a buffer. The buffer is the cheapest way
// of keeping what they write; without it each event is a system call.
func (b *bench) logs() error {
	file, err := b.file("log")
	if err != nil {
		return err
	}
	for _, to := range []struct {
		name, keeps string
		w           io.Writer
	}{
		{" to nothing", "", io.Discard},
		{" to a file", "all, as text", bufio.NewWriterSize(file, 1<<16)},
	} {
		text := slog.New(slog.NewTextHandler(to.w, nil))
		json := slog.New(slog.NewJSONHandler(to.w, nil))
		zero := zerolog.New(to.w).With().Timestamp().Logger()
		b.other("slog, text,"+to.name, to.keeps, rewound(file, timed(func(i int64) { slogSix(text, i) })))
		b.other("slog, JSON,"+to.name, to.keeps, rewound(file, timed(func(i int64) { slogSix(json, i) })))
		b.other("zerolog"+to.name, to.keeps, rewound(file, timed(func(i int64) {
			zero.Info().Int64("a", i).Int64("b", i+1).Int64("c", i+2).Int64("d", i+3).Int64("e", i+4).Int64("f", i+5).Msg("six")
		})))
	}
	return nil
}

func slogSix(l *slog.Logger, i int64) {
	l.LogAttrs(context.Background(), slog.LevelInfo, "six", slog.Int64("a", i), slog.Int64("b", i+1),
		slog.Int64("c", i+2), slog.Int64("d", i+3), slog.Int64("e", i+4), slog.Int64("f", i+5))
}

// handmade is what a Go programmer might write in an hour: the time and the numbers in binary, through a buffer, under a
// lock. No name, no thread, no description of the fields, and lost with the program.
func (b *bench) handmade() error {
	file, err := b.file("handmade")
	if err != nil {
		return err
	}
	var mu sync.Mutex
	w := bufio.NewWriterSize(file, 1<<16)
	b.inside("by hand: lock, time, buffer", "numbers, in the program's memory", rewound(file, timed(func(i int64) {
		mu.Lock()
		defer mu.Unlock()
		room := w.AvailableBuffer()
		room = binary.LittleEndian.AppendUint64(room, uint64(time.Now().UnixNano()))
		for k := range int64(6) {
			room = binary.LittleEndian.AppendUint64(room, uint64(i+k))
		}
		_, _ = w.Write(room)
	})))
	return nil
}

// file makes a file that goes with the bench.
func (b *bench) file(name string) (*os.File, error) {
	f, err := os.CreateTemp(b.dir, name)
	if err == nil {
		b.closing = append(b.closing, f.Close)
	}
	return f, err
}
