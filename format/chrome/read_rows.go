package chrome

import (
	"bytes"
	"strconv"
	"strings"

	"meridian/format/internal/eventbuffer"
	"meridian/format/internal/pull"
	"meridian/trace"
)

// rowTable finds the rows of processes and threads. Their numbers are kept as they stand in the file, since some are text.
type rowTable struct {
	b         *eventbuffer.Builder
	processes map[string]int
	threads   map[string]int // by both numbers
	open      map[int][]int  // by row: slices that B began
	names     map[int]string // by row, as metadata says
	numbers   map[int]string // by row
	key       []byte
	// The thread asked for last: events come in runs.
	pid, tid []byte
	last     int
}

func newRows(b *eventbuffer.Builder) rowTable {
	return rowTable{b: b, processes: make(map[string]int), threads: make(map[string]int), open: make(map[int][]int),
		names: make(map[int]string), numbers: make(map[int]string), last: -1}
}

func (r *rowTable) process(pid []byte) int {
	row, known := r.processes[string(pid)]
	if !known {
		id, _ := strconv.ParseInt(string(pid), 10, 64)
		row = r.b.Stream(trace.Stream{Name: "process " + string(pid), Kind: trace.Process, ID: id, Parent: -1})
		r.processes[string(pid)] = row
		r.numbers[row] = string(pid)
	}
	return row
}

func (r *rowTable) thread(pid, tid []byte) int {
	if r.last >= 0 && bytes.Equal(pid, r.pid) && bytes.Equal(tid, r.tid) {
		return r.last
	}
	r.key = append(append(append(r.key[:0], pid...), 0), tid...)
	row, known := r.threads[string(r.key)]
	if !known {
		parent := r.process(pid)
		id, _ := strconv.ParseInt(string(tid), 10, 64)
		row = r.b.Stream(trace.Stream{Name: "thread " + string(tid), Kind: trace.Thread, ID: id, Parent: parent})
		r.threads[string(r.key)] = row
		r.numbers[row] = string(tid)
	}
	r.pid, r.tid, r.last = append(r.pid[:0], pid...), append(r.tid[:0], tid...), row
	return row
}

// named takes note of metadata.
func (r *rowTable) named(e *event) {
	var row int
	switch string(e.name) {
	case "process_name":
		row = r.process(e.pid)
	case "thread_name":
		row = r.thread(e.pid, e.tid)
	default:
		return
	}
	pull.Members(e.args, func(name, v []byte) bool {
		if string(name) != "name" {
			return true
		}
		if text := strings.TrimSpace(string(e.text(v))); text != "" {
			r.names[row] = text
		}
		return false
	})
}

// complete gives the rows their names, with the number where the name does not hold it.
func (r *rowTable) complete() {
	streams := r.b.Streams()
	for row, name := range r.names {
		if number := r.numbers[row]; number != "" && number != name && !strings.Contains(name, number) {
			name += " " + number
		}
		streams[row].Name = name
	}
}
