package ctf

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meridian/sensor/tsdl"
	"meridian/trace"
)

// fragmentParser reads the metadata of CTF 2: JSON objects one after another, each with a type.
//
//	preamble   field-class-alias*   trace-class   clock-class*   data-stream-class*   event-record-class*
//
// It understands CTF2-SPEC-2.0 and what its drafts had otherwise: enumerations as types of their own, locations as
// arrays that begin with the origin, clocks referred to by name, user-attributes.
type fragmentParser struct {
	file      string
	w         *trace.Warnings
	reader    jsonReader
	allocated int

	hasPreamble bool // the preamble was there
	m           Metadata
	aliases     map[string]*fieldClass
	clocks      map[string]int // by what data streams call them
	header      *fieldClass
	streams     []streamClassDecl
	events      []eventDecl
	declared    map[uint64]bool // the streams there are
}

type streamClassDecl struct {
	streamDecl
	clock string
}

// parseFragments reads all of them and skips damaged ones that the others do not need.
func parseFragments(text, file string, w *trace.Warnings) (*Metadata, error) {
	p := &fragmentParser{file: file, w: w, reader: jsonReader{src: text, line: 1}, aliases: map[string]*fieldClass{},
		clocks: map[string]int{}, declared: map[uint64]bool{}}
	p.m.Major = 2
	broken := 0
	for {
		start := p.reader.at
		v, err := p.reader.next()
		if v == nil && err == nil {
			break
		}
		what := ""
		if err == nil {
			what = v.member("type").word()
			err = p.fragment(what, v)
		} else {
			p.reader.at = max(p.reader.at, start+1)
			p.reader.skip()
		}
		if err == nil {
			continue
		}
		err = p.located(err, v)
		if broken++; broken > maxInvalid || !p.hasPreamble || what == "trace-class" || what == "clock-class" || p.allocated > maxAllocation {
			return nil, err // all the rest depends on it
		}
		p.w.Gap(file, "invalid metadata fragment skipped", strings.TrimPrefix(err.Error(), file+":"), 1)
	}
	if !p.hasPreamble {
		return nil, fmt.Errorf("%s: the first metadata fragment is not a preamble", file)
	}
	return p.metadata()
}

// located gives an error its file and line: that of the fragment where a member is missing.
func (p *fragmentParser) located(err error, in *jsonValue) error {
	var e *jsonError
	if errors.As(err, &e) {
		if e.line == 0 && in != nil {
			e.line = in.line
		}
		return fmt.Errorf("%s:%d: %s", p.file, e.line, e.what)
	}
	return err
}

func (v *jsonValue) fail(format string, args ...any) error {
	line := 0
	if v != nil {
		line = v.line
	}
	return &jsonError{line, fmt.Sprintf(format, args...)}
}

func (p *fragmentParser) fragment(what string, v *jsonValue) error {
	if v.kind != jsonObject {
		return v.fail("metadata fragment is %s, not an object", v.kind)
	}
	if !p.hasPreamble && what != "preamble" {
		return v.fail("the first metadata fragment is not a preamble")
	}
	switch what {
	case "preamble":
		return p.preamble(v)
	case "field-class-alias":
		name := v.member("name").word()
		if name == "" || p.aliases[name] != nil {
			return v.fail("field class alias %.60q is unnamed or already declared", name)
		}
		s, err := p.class(v.member("field-class"), v, 0)
		if err == nil {
			p.aliases[name] = s
		}
		return err
	case "trace-class":
		return p.traceClass(v)
	case "clock-class":
		return p.clockClass(v)
	case "data-stream-class":
		return p.streamClass(v)
	case "event-record-class":
		return p.eventClass(v)
	}
	p.w.Add(p.file, "metadata fragments of unknown type ignored", fmt.Sprintf("line %d, %.60q", v.line, what))
	return nil
}

func (p *fragmentParser) preamble(v *jsonValue) error {
	if p.hasPreamble {
		return v.fail("second preamble")
	}
	version, err := v.member("version").unsigned("version")
	if err != nil {
		return err
	}
	if version != 2 {
		return v.fail("unsupported CTF version %d (1.8, 2)", version)
	}
	if e := v.member("extensions"); e != nil && len(e.names) > 0 {
		name := e.names[0]
		if inner := e.items[0]; len(inner.names) > 0 {
			name += "/" + inner.names[0]
		}
		return e.fail("unsupported CTF 2 extension %.80q", name)
	}
	if id := v.member("uuid"); id != nil {
		p.m.UUID, p.m.HasUUID = id.uuid()
		if !p.m.HasUUID {
			p.w.Add(p.file, "invalid trace UUID ignored", fmt.Sprintf("line %d", id.line))
		}
	}
	p.hasPreamble = true
	return nil
}

// uuid reads 16 numbers.
func (v *jsonValue) uuid() (id [16]byte, ok bool) {
	if v.kind != jsonArray || len(v.items) != 16 {
		return id, false
	}
	for i, x := range v.items {
		n, err := x.unsigned("")
		if err != nil || n > 255 {
			return id, false
		}
		id[i] = byte(n)
	}
	return id, true
}

func (p *fragmentParser) traceClass(v *jsonValue) (err error) {
	if id := v.member("uuid"); id != nil && !p.m.HasUUID { // a draft's
		p.m.UUID, p.m.HasUUID = id.uuid()
	}
	if env := v.member("environment"); env != nil {
		for i, name := range env.names {
			if e, ok := env.items[i].entry(name); ok {
				p.m.Env = append(p.m.Env, e)
			}
		}
	}
	p.header, err = p.root(v, "packet-header-field-class")
	return err
}

// entry returns a text or a whole number as something with a name.
func (v *jsonValue) entry(name string) (Env, bool) {
	switch v.kind {
	case jsonText:
		return Env{Name: name, Text: v.text, IsText: true}, true
	case jsonNumber:
		if n, err := strconv.ParseInt(v.text, 10, 64); err == nil {
			return Env{Name: name, Number: n}, true
		}
		return Env{Name: name, Text: v.text, IsText: true}, true
	case jsonBool:
		return Env{Name: name, Text: strconv.FormatBool(v.truth), IsText: true}, true
	}
	return Env{}, false
}

func (p *fragmentParser) clockClass(v *jsonValue) (err error) {
	c := Clock{Name: v.member("name").word(), Description: v.member("description").word()}
	id, draft := v.member("id").word(), v.member("id") == nil
	if draft {
		id = c.Name
	}
	if c.Name == "" {
		c.Name = id
	}
	if _, again := p.clocks[id]; again {
		return v.fail("duplicate clock class %.60q", id)
	}
	if c.Frequency, err = v.member("frequency").unsigned("frequency"); err != nil {
		return err
	}
	if c.Frequency == 0 {
		return v.fail("clock frequency is 0")
	}
	if n := v.member("precision"); n != nil {
		if c.Precision, err = n.unsigned("precision"); err != nil {
			return err
		}
	}
	if o := v.member("offset-from-origin"); o != nil {
		if n := o.member("seconds"); n != nil {
			if c.OffsetSeconds, err = n.signed("seconds"); err != nil {
				return err
			}
		}
		if n := o.member("cycles"); n != nil {
			if c.Offset, err = n.signed("cycles"); err != nil {
				return err
			}
		}
	}
	// The drafts took the epoch where nothing was said, and had no id.
	origin := v.member("origin")
	c.Epoch = origin == nil && draft || origin.word() == "unix-epoch"
	c.Absolute = origin.word() == "unix-epoch"
	if c.UUID = v.member("uid").word(); c.UUID == "" && v.member("uuid") != nil {
		if u, ok := v.member("uuid").uuid(); ok {
			c.UUID = tsdl.UUID(u)
		}
	}
	p.clocks[id] = len(p.m.Clocks)
	p.m.Clocks = append(p.m.Clocks, c)
	return nil
}

// count returns a member that counts something, or 0 without it.
func (v *jsonValue) count(name string) (uint64, error) {
	if n := v.member(name); n != nil {
		return n.unsigned(name)
	}
	return 0, nil
}

func (p *fragmentParser) streamClass(v *jsonValue) (err error) {
	s := streamClassDecl{streamDecl: streamDecl{line: v.line, name: v.member("name").word()}}
	if s.id, err = v.count("id"); err != nil {
		return err
	}
	if p.declared[s.id] {
		return v.fail("duplicate data stream class %d", s.id)
	}
	if s.clock = v.member("default-clock-class-id").word(); s.clock == "" {
		s.clock = v.member("default-clock-class-name").word()
	}
	if _, ok := p.clocks[s.clock]; !ok && s.clock != "" {
		return v.fail("undeclared clock class %.60q", s.clock)
	}
	s.packetContext, err = p.root(v, "packet-context-field-class")
	if err == nil {
		s.eventHeader, err = p.root(v, "event-record-header-field-class")
	}
	if err == nil {
		s.eventContext, err = p.root(v, "event-record-common-context-field-class")
	}
	if err == nil {
		p.declared[s.id] = true
		p.streams = append(p.streams, s)
	}
	return err
}

func (p *fragmentParser) eventClass(v *jsonValue) (err error) {
	d := eventDecl{line: v.line, hasID: true, hasStream: true}
	d.class.Name, d.class.Namespace = v.member("name").word(), v.member("namespace").word()
	if d.class.ID, err = v.count("id"); err != nil {
		return err
	}
	if d.stream, err = v.count("data-stream-class-id"); err != nil {
		return err
	}
	if d.context, err = p.root(v, "specific-context-field-class"); err != nil {
		return err
	}
	if d.payload, err = p.root(v, "payload-field-class"); err != nil {
		return err
	}
	p.attributes(v, &d.class)
	p.events = append(p.events, d)
	return nil
}

// logLevels are LTTng's and Babeltrace's names, from 0 up.
var logLevels = []string{"emergency", "alert", "critical", "error", "warning", "notice", "info", "debug:system",
	"debug:program", "debug:process", "debug:module", "debug:unit", "debug:function", "debug:line", "debug"}

// attributes keeps what people want to see of an event's.
func (p *fragmentParser) attributes(v *jsonValue, c *EventClass) {
	all := v.member("attributes")
	if all == nil {
		all = v.member("user-attributes")
	}
	if all == nil {
		return
	}
	for i, space := range all.names {
		if e, ok := all.items[i].entry(space); ok {
			c.Attributes = append(c.Attributes, e)
		}
		for j, name := range all.items[i].names {
			e, ok := all.items[i].items[j].entry(name)
			level := slices.Index(logLevels, e.Text)
			switch {
			case !ok:
			case name == "log-level" && e.IsText && level >= 0:
				c.LogLevel, c.HasLevel = level, true
			case name == "log-level" && !e.IsText:
				c.LogLevel, c.HasLevel = int(e.Number), true
			case name == "emf-uri" && e.IsText:
				c.URI = e.Text
			default:
				e.Name = space + "/" + name
				c.Attributes = append(c.Attributes, e)
			}
		}
	}
}
