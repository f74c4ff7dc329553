package messages

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"meridian/format/internal/text"
	"meridian/trace"
)

var (
	errFields     = errors.New("not the four fields FROM TO SENT RECEIVED")
	errSelf       = errors.New("a message from a host to itself")
	errCollective = errors.New("not the five fields @collective NAME HOST ENTERED LEFT")
	errEarly      = errors.New("a collective left before it was entered")
	errBroadcast  = errors.New("not the four fields @broadcast NAME HOST RECEIVED")
	errTwice      = errors.New("a broadcast that one host received twice")
	errWord       = errors.New("a host named @collective or @broadcast, which begin other lines")
	errGroupName  = errors.New("the name of a collective or a broadcast with control characters or invalid UTF-8")
)

// Read reads a file of messages; file is its name for warnings, errors and the list.
func Read(r io.Reader, file string, w *trace.Warnings) (*trace.List, error) {
	p := parser{
		list:     &trace.List{File: file},
		hosts:    make(map[string]int),
		channels: make(map[[2]int]int),
		declared: -1,
	}
	lines := text.NewLines(r)
	for {
		line, whole, err := lines.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", file, lines.Number+1, err)
		}
		p.line = lines.Number
		p.add(line, whole)
	}
	if p.taken == 0 {
		return nil, p.nothing(file)
	}
	p.warn(file, w)
	return p.list, nil
}

// parser gathers the list.
type parser struct {
	list        *trace.List
	hosts       map[string]int
	channels    map[[2]int]int // by sender and receiver
	collectives map[string]int
	broadcasts  map[string]int
	heard       map[[2]int]bool // by broadcast and host
	line        int
	content     int // lines that were neither blank nor a comment
	taken       int // of these, put into the list
	declared    int64
	rounded     text.Cases
	skipped     text.Skipped
	unknown     error // names the first directive that is none; nil without any
}

func (p *parser) add(line []byte, whole bool) {
	var fields [6][]byte
	n := text.Fields(line, fields[:])
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
		err = text.ErrTooLong
	case fields[0][0] == '@' && string(fields[0]) == wordCollective:
		err = errCollective
		if n == 5 {
			err = p.member(fields[1], fields[2], fields[3], fields[4])
		}
	case fields[0][0] == '@' && string(fields[0]) == wordBroadcast:
		err = errBroadcast
		if n == 4 {
			err = p.reception(fields[1], fields[2], fields[3])
		}
	case n == 4:
		err = p.message(fields[0], fields[1], fields[2], fields[3])
	case fields[0][0] == '@':
		err = p.directive(fields[0])
	}
	if err != nil {
		p.skipped.Add(p.line, err)
		return
	}
	p.taken++
}

// directive is the error of a line that begins with @ and an unknown word. It names the first such word, so that all make one
// reason.
func (p *parser) directive(word []byte) error {
	if p.unknown == nil {
		const maxShown = 40
		shown := string(word[:min(len(word), maxShown)])
		if !text.ValidName([]byte(shown)) {
			shown = strconv.Quote(shown)
		}
		p.unknown = fmt.Errorf("unknown directive %s; known: %s, %s", shown, wordCollective, wordBroadcast)
	}
	return p.unknown
}

// message adds one message, or says why it cannot and leaves the list as it was.
func (p *parser) message(from, to, sent, received []byte) error {
	if bytes.Equal(from, to) {
		return errSelf
	}
	s, r, exact, err := text.Interval(sent, received)
	if err != nil {
		return err
	}
	f, okF := p.hosts[string(from)]
	t, okT := p.hosts[string(to)]
	if !okF {
		err = checkHost(from)
	}
	if !okT && err == nil {
		err = checkHost(to)
	}
	if err != nil {
		return err
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
	if !exact {
		p.rounded.Add(p.line)
	}
	return nil
}

// checkHost says why no host may have a name.
func checkHost(name []byte) error {
	switch {
	case !text.ValidName(name):
		return text.ErrName
	case string(name) == wordCollective || string(name) == wordBroadcast:
		return errWord
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
	line, reason := p.skipped.First()
	if reason == nil {
		return fmt.Errorf("%s: no message: %s", file, Expected)
	}
	return fmt.Errorf("%s: no message, line %d: %w; %s", file, line, reason, Expected)
}

func (p *parser) warn(file string, w *trace.Warnings) {
	p.skipped.Warn(file, w)
	if c := p.rounded; c.Count > 0 {
		w.AddN(file, "stamps finer than a nanosecond rounded, sent down and received up", text.Place(file, c.First), c.Count)
	}
	if p.declared >= 0 && p.declared != int64(len(p.list.Hosts)) {
		w.Add(file, fmt.Sprintf("the first line says %d hosts, the messages name %d", p.declared, len(p.list.Hosts)), "")
	}
}
