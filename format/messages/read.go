package messages

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"meridian/clock"
	"meridian/trace"
)

// maxLine is how much of a line is kept: names and stamps fit many times over, and what is longer can only go on
// harmlessly within a comment.
const maxLine = 1 << 20

var (
	errFields  = errors.New("not the four fields FROM TO SENT RECEIVED")
	errSelf    = errors.New("a message from a host to itself")
	errName    = errors.New("a host name with control characters or broken UTF-8")
	errTooLong = errors.New("a line longer than 1 MiB")
)

// Read reads a file of messages; file is its name for warnings, errors and the list.
func Read(r io.Reader, file string, w *trace.Warnings) (*trace.List, error) {
	p := parser{
		list:     &trace.List{File: file},
		hosts:    make(map[string]int),
		channels: make(map[[2]int]int),
		skipped:  make(map[error]*cases),
		declared: -1,
	}
	lines := lineReader{r: bufio.NewReaderSize(r, 256<<10)}
	for {
		line, whole, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", file, p.line+1, err)
		}
		p.add(line, whole)
	}
	if p.messages == 0 {
		return nil, p.nothing(file)
	}
	p.warn(file, w)
	return p.list, nil
}

// parser gathers the list. Its warnings are counted by reason here and told at the end: ten million bad lines must not
// format ten million texts.
type parser struct {
	list     *trace.List
	hosts    map[string]int
	channels map[[2]int]int // by sender and receiver
	line     int
	content  int // lines that were neither blank nor a comment
	messages int
	declared int64 // number of hosts on the first line, -1 without one
	rounded  cases
	skipped  map[error]*cases
}

// cases counts what happened and remembers the first line of it.
type cases struct {
	count int64
	first int
}

func (c *cases) add(line int) {
	if c.count == 0 {
		c.first = line
	}
	c.count++
}

func (p *parser) add(line []byte, whole bool) {
	p.line++
	if p.line == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if i := bytes.IndexByte(line, '#'); i >= 0 {
		line, whole = line[:i], true
	}
	var fields [5][]byte
	n := split4(line, &fields)
	if n == 0 && whole {
		return
	}
	p.content++
	if n == 1 && p.content == 1 {
		if hosts, err := strconv.ParseUint(string(fields[0]), 10, 31); err == nil {
			p.declared = int64(hosts)
			return
		}
	}
	err := errFields
	switch {
	case !whole:
		err = errTooLong
	case n == 4:
		err = p.message(fields[0], fields[1], fields[2], fields[3])
	}
	if err != nil {
		if p.skipped[err] == nil {
			p.skipped[err] = new(cases)
		}
		p.skipped[err].add(p.line)
	}
}

// message adds one message, or says why it cannot and leaves the list as it was.
func (p *parser) message(from, to, sent, received []byte) error {
	if bytes.Equal(from, to) {
		return errSelf
	}
	s, exactS, err := parseStamp(sent, clock.Down)
	if err != nil {
		return err
	}
	r, exactR, err := parseStamp(received, clock.Up)
	if err != nil {
		return err
	}
	f, okF := p.hosts[string(from)]
	t, okT := p.hosts[string(to)]
	if (!okF && !validName(from)) || (!okT && !validName(to)) {
		return errName
	}
	if !okF {
		f = p.newHost(from)
	}
	if !okT {
		t = p.newHost(to)
	}
	c, ok := p.channels[[2]int{f, t}]
	if !ok {
		c = len(p.list.Channels)
		p.channels[[2]int{f, t}] = c
		p.list.Channels = append(p.list.Channels, trace.Channel{From: f, To: t})
	}
	channel := &p.list.Channels[c]
	channel.Messages = append(channel.Messages, trace.Message{Sent: s, Received: r})
	p.messages++
	if !exactS || !exactR {
		p.rounded.add(p.line)
	}
	return nil
}

func (p *parser) newHost(name []byte) int {
	i := len(p.list.Hosts)
	p.list.Hosts = append(p.list.Hosts, string(name))
	p.hosts[string(name)] = i
	return i
}

// nothing is the error of a file without a message.
func (p *parser) nothing(file string) error {
	if p.content == 0 {
		return fmt.Errorf("%s: empty: %s", file, Expected)
	}
	reasons := p.reasons()
	if len(reasons) == 0 {
		return fmt.Errorf("%s: no message: %s", file, Expected)
	}
	return fmt.Errorf("%s: no message, line %d: %w; %s", file, p.skipped[reasons[0]].first, reasons[0], Expected)
}

// reasons lists why lines were skipped, in the order in which it first happened.
func (p *parser) reasons() []error {
	var list []error
	for reason := range p.skipped {
		list = append(list, reason)
	}
	slices.SortFunc(list, func(a, b error) int { return cmp.Compare(p.skipped[a].first, p.skipped[b].first) })
	return list
}

func (p *parser) warn(file string, w *trace.Warnings) {
	for _, reason := range p.reasons() {
		c := p.skipped[reason]
		w.AddN(file, "line skipped: "+reason.Error(), place(file, c.first), c.count)
	}
	if c := p.rounded; c.count > 0 {
		w.AddN(file, "stamps finer than a nanosecond rounded, sent down and received up", place(file, c.first), c.count)
	}
	if p.declared >= 0 && p.declared != int64(len(p.list.Hosts)) {
		w.Add(file, fmt.Sprintf("the first line says %d hosts, the messages name %d", p.declared, len(p.list.Hosts)), "")
	}
}

func place(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }

// split4 cuts a line into its first fields and returns how many there are, up to one more than a message has.
func split4(line []byte, fields *[5][]byte) int {
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

// validName says whether a name can stand in a file of messages and come back the same.
func validName(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c == '#' || c == 0x7f {
			return false
		}
	}
	return len(name) > 0 && utf8.Valid(name)
}

// lineReader brings a file line by line without its ends. The line lasts until the next.
type lineReader struct {
	r    *bufio.Reader
	long []byte
}

// next returns the next line; whole is false if its end was cut off after maxLine bytes.
func (l *lineReader) next() (line []byte, whole bool, err error) {
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

func (l *lineReader) keep(part []byte) bool {
	room := min(len(part), maxLine-len(l.long))
	l.long = append(l.long, part[:room]...)
	return room == len(part)
}
