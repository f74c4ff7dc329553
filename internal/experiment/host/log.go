//go:build unix

package host

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// Limits of logs.
const (
	tailLines   = 20
	maxLine     = 64 << 10  // bytes of a line of a log
	maxTailLine = 500       // bytes of a line that are kept for reports
	maxLog      = 256 << 20 // bytes of the log of a daemon; what its process writes then is counted and dropped
)

// log is the log of a daemon: a file with a stamp a line, and its last lines.
type log struct {
	mu      sync.Mutex
	file    *os.File
	buffer  *bufio.Writer
	written int64
	dropped int64
	limit   int64 // maxLog, except in tests
	tail    []string
}

func newLog(path string) (*log, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	return &log{file: f, buffer: bufio.NewWriter(f), limit: maxLog}, nil
}

// line adds a line that came from "out", "err" or "run", which is this program.
func (l *log) line(from, text string) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	short := text
	if len(short) > maxTailLine {
		short = short[:maxTailLine] + "..."
	}
	if l.tail = append(l.tail, short); len(l.tail) > tailLines {
		l.tail = l.tail[1:]
	}
	if l.written > l.limit && from != "run" {
		l.dropped++
		return
	}
	n, _ := fmt.Fprintf(l.buffer, "%d.%09d %s %s\n", now.Unix(), now.Nanosecond(), from, text)
	l.written += int64(n)
	if from == "run" {
		_ = l.buffer.Flush()
	}
}

// last returns the last lines.
func (l *log) last() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.tail...)
}

// close writes the rest to the file. The error says what the file lacks: lines beyond its limit, or all that a full disk did not take.
func (l *log) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var dropped error
	if l.dropped > 0 {
		dropped = fmt.Errorf("%d lines were dropped: the log has %d bytes, at most %d", l.dropped, l.written, l.limit)
		fmt.Fprintln(l.buffer, dropped)
	}
	return errors.Join(dropped, l.buffer.Flush(), l.file.Close())
}

// copyLines adds lines of an output to the log, and says each to see first. It returns at the output's end. A line longer than
// most bytes is cut into several.
func (l *log) copyLines(from string, r io.Reader, most int, see func(line string) (stored bool)) {
	b := bufio.NewReaderSize(r, most)
	for {
		line, err := b.ReadSlice('\n')
		if len(line) > 0 {
			text := strings.TrimRight(string(line), "\r\n")
			if see == nil || !see(text) {
				l.line(from, text)
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
