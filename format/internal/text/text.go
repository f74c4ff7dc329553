// Package text is what the formats that people write by hand have in common: lines of fields that stand apart by blanks
// or tabs, comments behind a #, stamps in decimal seconds, and bad lines that are left out and counted.
//
//	file --> Lines.Next --> line --> Fields --> names (ValidName) and stamps (Seconds)
//	                                   \-> Skipped: why not, how often, where first
//
// Nothing here allocates per line: ten million lines, good or bad, cost their reading.
package text

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf8"
)

// maxLine is how much of a line is kept: names and stamps fit many times over, and what is longer can only go on
// harmlessly within a comment.
const maxLine = 1 << 20

// mark is the byte order mark. It stands where a file begins, and where another one was appended to it.
var mark = []byte("\ufeff")

// Lines brings a file line by line, without comments, line ends and byte order marks at their beginnings.
type Lines struct {
	// Number is that of the line that Next brought last, from 1.
	Number int

	r    *bufio.Reader
	long []byte
}

// NewLines reads from r, some 256 KiB ahead.
func NewLines(r io.Reader) *Lines { return &Lines{r: bufio.NewReaderSize(r, 256<<10)} }

// Next returns the next line, which lasts until the one after it, or io.EOF after the last. Whole is false if its end was
// cut off after 1 MiB, and not within a comment.
func (l *Lines) Next() (line []byte, whole bool, err error) {
	line, whole, err = l.raw()
	if err != nil {
		return nil, false, err
	}
	l.Number++
	line = bytes.TrimPrefix(line, mark)
	if i := bytes.IndexByte(line, '#'); i >= 0 {
		line, whole = line[:i], true
	}
	return line, whole, nil
}

func (l *Lines) raw() (line []byte, whole bool, err error) {
	line, err = l.r.ReadSlice('\n')
	whole = true
	if err == bufio.ErrBufferFull {
		l.long = l.long[:0]
		for err == bufio.ErrBufferFull {
			whole = l.keep(line) && whole
			line, err = l.r.ReadSlice('\n')
		}
		whole = l.keep(line) && whole
		line = l.long
	}
	if err == io.EOF && len(line) > 0 {
		err = nil
	}
	return bytes.TrimSuffix(line, []byte("\n")), whole, err
}

func (l *Lines) keep(part []byte) bool {
	room := min(len(part), maxLine-len(l.long))
	l.long = append(l.long, part[:room]...)
	return room == len(part)
}

// Fields cuts a line into its first fields and returns how many there are, at most as many as fit into fields.
func Fields(line []byte, fields [][]byte) int {
	n, start := 0, -1
	for i, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			fields[n] = line[start:i]
			start = -1
			if n++; n == len(fields) {
				return n
			}
		}
	}
	if start >= 0 {
		fields[n] = line[start:]
		n++
	}
	return n
}

// ValidName says whether a name can stand in a line and come back the same.
func ValidName(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c == '#' || c == 0x7f {
			return false
		}
	}
	return len(name) > 0 && utf8.Valid(name) && !bytes.HasPrefix(name, mark)
}
