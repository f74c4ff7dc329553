package filter

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"meridian/clock"
	"meridian/trace"
)

// Pair is two types of events that belong together, such as a request and its answer, and how far apart they may be.
type Pair struct {
	Name       string
	Begin, End string // patterns of the events' names
	// Key names the fields that tell the pairs apart; none: the next End on the same row. BEGIN/END is a field that has another name at
	// the end than at the begin, unless one of the two events has a field of just that name.
	Key      []string
	Min, Max time.Duration // thresholds; 0 for none
}

// ParsePair reads NAME=BEGIN..END[,key=FIELD[/FIELD]]...[,min=DURATION][,max=DURATION].
func ParsePair(s string) (Pair, error) {
	wrong := func(why string) (Pair, error) {
		return Pair{}, fmt.Errorf("invalid pair %q: %s; want NAME=BEGIN..END[,key=FIELD[/FIELD]][,min=1us][,max=5ms]", s, why)
	}
	name, rest, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return wrong("its name is missing")
	}
	parts := strings.Split(rest, ",")
	begin, end, ok := strings.Cut(parts[0], "..")
	if !ok || begin == "" || end == "" {
		return wrong("its two events are missing")
	}
	p := Pair{Name: name, Begin: begin, End: end}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "key":
			if first, second, two := strings.Cut(value, "/"); value == "" || two && (first == "" || second == "") {
				return wrong(fmt.Sprintf("%q names no field", part))
			}
			p.Key = append(p.Key, value)
		case "min":
			p.Min, err = time.ParseDuration(value)
		case "max":
			p.Max, err = time.ParseDuration(value)
		default:
			return wrong(fmt.Sprintf("unknown part %q (key, min, max)", part))
		}
		if err != nil {
			return wrong(err.Error())
		}
	}
	return p, p.check()
}

func (p *Pair) check() error {
	switch {
	case p.Begin == "" || p.End == "":
		return fmt.Errorf("pair %s needs the names of two events, begin and end", p.Name)
	case p.Min < 0 || p.Max < 0 || p.Max > 0 && p.Max < p.Min:
		return fmt.Errorf("pair %s: thresholds min=%v, max=%v out of range: 0 or more, max above min", p.Name, p.Min, p.Max)
	}
	return nil
}

// role is what a type of events is to a pair.
type role struct {
	begins, ends     phaseSet
	beginKey, endKey []keyField
}

// keyField is where a field of a key stands in the events of a type.
type keyField struct {
	path  fieldPath // nil where the type lacks it
	slice bool      // without a field of that name it is the number of the slice
}

func (p *Pair) role(c *trace.Class) role {
	r := role{begins: phasesOf(p.Begin, c), ends: phasesOf(p.End, c)}
	if r.begins.any() || r.ends.any() {
		for _, name := range p.Key {
			r.beginKey = append(r.beginKey, keyFieldOf(c, name, 0))
			r.endKey = append(r.endKey, keyFieldOf(c, name, 1))
		}
	}
	return r
}

// keyFieldOf looks up the field of a key, by its part for begins (0) or ends (1) where the name has two.
func keyFieldOf(c *trace.Class, name string, part int) keyField {
	if path := find(c.Fields, name); path != nil { // pod/name, as attributes of spans may be called
		return keyField{path: path}
	}
	if first, second, two := strings.Cut(name, "/"); two {
		name = [2]string{first, second}[part]
	}
	return keyField{find(c.Fields, name), name == sliceKey}
}

// phaseSet says which events of a type a pattern means: those that are no end of a slice, which is no event of its own,
// or by NAME:begin and NAME:end where slices called NAME begin and end.
type phaseSet struct {
	named bool
	slice bool
	phase trace.Phase // with slice
}

func phasesOf(pattern string, c *trace.Class) (o phaseSet) {
	o.named = MatchClass([]string{pattern}, c)
	for suffix, phase := range map[string]trace.Phase{":begin": trace.Begin, ":end": trace.End} {
		if name, ok := strings.CutSuffix(pattern, suffix); ok && name != "" && MatchClass([]string{name}, c) {
			o.slice, o.phase = true, phase
		}
	}
	return o
}

func (o *phaseSet) any() bool { return o.named || o.slice }

func (o *phaseSet) is(phase trace.Phase) bool {
	return o.named && phase != trace.End || o.slice && phase == o.phase
}

// Result is what became of a pair. Durations are in ns.
type Result struct {
	Name       string  `json:"name"`
	Count      int64   `json:"count"`
	MinNs      int64   `json:"min_ns"`
	MeanNs     float64 `json:"mean_ns"`
	MedianNs   int64   `json:"median_ns"`
	P99Ns      int64   `json:"p99_ns"`
	MaxNs      int64   `json:"max_ns"`
	BelowMin   int64   `json:"below_min"`    // shorter than the threshold
	AboveMax   int64   `json:"above_max"`    // longer than the threshold
	Undecided  int64   `json:"undecided"`    // of these, those that the clocks' bounds and steps leave open
	WithinOpen int64   `json:"within_open"`  // within both thresholds, but the clocks' bounds and steps allow that it is not
	OutOfOrder int64   `json:"out_of_order"` // the end came before its begin
	OrderOpen  int64   `json:"order_open"`   // it is not certain which of the two was first
	NoEnd      int64   `json:"no_end"`       // begins of which no end came
	NoBegin    int64   `json:"no_begin"`     // ends of which no begin came
	NoKey      int64   `json:"no_key"`       // events without the key's fields
	BoundNs    int64   `json:"bound_ns"`     // the most by which bounds and steps leave a duration open, of all pairs that they bound
	Unbounded  int64   `json:"unbounded"`    // pairs whose durations have no bounds
	Longest    *Case   `json:"longest,omitempty"`
	Beyond     *Case   `json:"beyond,omitempty"` // the longest that is beyond a threshold whatever the bounds allow, else that may be
}

// Case is one pair on the timeline.
type Case struct {
	BeginNs    clock.TimelineTime `json:"begin_ns"`
	DurationNs int64              `json:"duration_ns"`
	LowNs      int64              `json:"low_ns"` // of the duration, by the clocks' bounds and steps, if Bounded
	HighNs     int64              `json:"high_ns"`
	Bounded    bool               `json:"bounded"`
	Order      Order              `json:"order"` // was its begin before its end?
	From       string             `json:"from"`  // host
	To         string             `json:"to"`
	Key        string             `json:"key"`
}

// sliceKey as a key is the number of a slice, where no field is called so.
const sliceKey = "slice"

// maxOpen is how many begins without an end, and ends without a begin, are remembered for each pair; older ones are
// given up.
const maxOpen = 1 << 20

// maxDurations is how many durations quantiles are taken of; of more, each second is dropped, then each second again.
const maxDurations = 1 << 20

// waiting is one event of a pair that waits for the other.
type waiting struct {
	stamp
	early *waiting // of a begin: an end that came before it, its own if no other comes
}

// pairing is a pair at work.
type pairing struct {
	*Pair
	Result
	sum       float64
	certain   bool // Result.Beyond is beyond a threshold for certain
	durations []int64
	every     int64 // of how many durations one is kept
	begun     map[string]waiting
	early     map[string]waiting // ends that came first
	key       []byte             // of the record at hand
	value     []byte             // of one field of it
	// How many begins, ends and durations are remembered.
	maxOpen, maxDurations int
	anyBegin, anyEnd      bool // there were such events, with or without a key
}

func newPairing(p *Pair) pairing {
	return pairing{Pair: p, Result: Result{Name: p.Name}, every: 1, maxOpen: maxOpen, maxDurations: maxDurations, begun: make(map[string]waiting), early: make(map[string]waiting)}
}

// pair gives a record to the pairs whose begin or end it is.
func (f *Filter) pair(c *class, r *trace.TimelineEvent) error {
	for i := range f.pairs {
		role := &c.roles[i]
		p := &f.pairs[i]
		begins, ends := role.begins.is(r.Phase), role.ends.is(r.Phase)
		if !begins && !ends {
			continue
		}
		p.anyBegin, p.anyEnd = p.anyBegin || begins, p.anyEnd || ends
		fields := f.schema.Classes[r.Class].Fields
		w := waiting{stamp: f.stampOf(r)}
		lacking := false
		// What both begins and ends is one of a row of beats: it ends the last and begins the next.
		if ends {
			if p.keyOf(role.endKey, fields, r) {
				p.close(w, f.schema)
			} else {
				lacking = true
			}
		}
		if begins {
			if p.keyOf(role.beginKey, fields, r) {
				p.open(w, f.schema)
			} else {
				lacking = true
			}
		}
		if lacking {
			p.NoKey++
		}
	}
	return nil
}

// keyOf sets the key of a record; false if it lacks a field. Each of several values has its length before it: "a b" and "c" are
// another key than "a" and "b c".
func (p *pairing) keyOf(key []keyField, fields []trace.Field, r *trace.TimelineEvent) bool {
	p.key = p.key[:0]
	if len(key) == 0 {
		p.key = fmt.Appendf(p.key, "%d", r.Stream)
		return true
	}
	for i := range key {
		p.value = p.value[:0]
		if key[i].path == nil && key[i].slice && r.Slice != 0 {
			p.value = fmt.Appendf(p.value, "slice %d", r.Slice)
		} else {
			v, t := key[i].path.of(fields, r.Values)
			if v == nil {
				return false
			}
			p.value = v.Append(p.value, t)
		}
		p.key = binary.AppendUvarint(p.key, uint64(len(p.value)))
		p.key = append(p.key, p.value...)
	}
	return true
}

// keyText writes a key for people.
func keyText(key []byte) string {
	var values []string
	for rest := key; len(rest) > 0; {
		n, size := binary.Uvarint(rest)
		values = append(values, string(rest[size:size+int(n)]))
		rest = rest[size+int(n):]
	}
	return strings.Join(values, " ")
}

func (p *pairing) open(w waiting, l *trace.Schema) {
	if e, ok := p.early[string(p.key)]; ok {
		delete(p.early, string(p.key))
		w.early = &e
	}
	if b, ok := p.begun[string(p.key)]; ok {
		p.giveUp(p.key, b, l)
	} else if len(p.begun) >= p.maxOpen {
		p.giveUpAll(l)
	}
	p.begun[string(p.key)] = w
}

// giveUp ends the waiting of a begin to which no end came: if one came before it, with the same key and no begin of its
// own, the two are a pair in the wrong order.
func (p *pairing) giveUp(key []byte, b waiting, l *trace.Schema) {
	if b.early == nil {
		p.NoEnd++
		return
	}
	p.OutOfOrder++
	p.measure(key, b, *b.early, l)
}

func (p *pairing) giveUpAll(l *trace.Schema) {
	for key, b := range p.begun {
		p.giveUp([]byte(key), b, l)
	}
	clear(p.begun)
}

func (p *pairing) close(w waiting, l *trace.Schema) {
	if b, ok := p.begun[string(p.key)]; ok {
		delete(p.begun, string(p.key))
		if b.early != nil {
			p.NoBegin++
		}
		p.measure(p.key, b, w, l)
		return
	}
	if len(p.Key) == 0 || p.Begin == p.End {
		p.NoBegin++
		return
	}
	if _, ok := p.early[string(p.key)]; ok {
		p.NoBegin++
	} else if len(p.early) >= p.maxOpen {
		p.NoBegin += int64(len(p.early))
		clear(p.early)
	}
	p.early[string(p.key)] = w
}

// measure takes a whole pair. By one clock both ends are wrong by the same, so that the duration is exact to a step of its
// stamps; by two it lies between what their bounds and steps allow.
func (p *pairing) measure(key []byte, b, e waiting, l *trace.Schema) {
	d := int64(e.time - b.time)
	low, high, bounded := b.between(&e.stamp, d)
	if bounded {
		p.BoundNs = max(p.BoundNs, d-low, high-d)
	} else {
		p.Unbounded++
	}
	order := b.order(&e.stamp)
	if order.Answer == "unknown" {
		p.OrderOpen++
	}
	p.Count++
	p.sum += float64(d)
	if p.Count == 1 {
		p.MinNs, p.MaxNs = d, d
	}
	p.MinNs = min(p.MinNs, d)
	if p.Longest == nil || d > p.MaxNs || d == p.MaxNs && b.time < p.Longest.BeginNs {
		p.MaxNs = d
		p.Longest = p.caseOf(key, b, e, d, low, high, l)
	}
	p.judge(key, b, e, d, low, high, l)
	if p.Count%p.every == 0 {
		p.durations = append(p.durations, d)
	}
	if len(p.durations) >= p.maxDurations {
		for i := range len(p.durations) / 2 {
			p.durations[i] = p.durations[2*i]
		}
		p.durations = p.durations[:len(p.durations)/2]
		p.every *= 2
	}
}

// judge holds a pair, which took d and truly from low to high, against the thresholds.
func (p *pairing) judge(key []byte, b, e waiting, d, low, high int64, l *trace.Schema) {
	least, most := int64(p.Min), int64(p.Max)
	if least == 0 {
		least = math.MinInt64
	}
	if most == 0 {
		most = math.MaxInt64
	}
	certain := high < least || low > most
	switch {
	case d < least:
		p.BelowMin++
	case d > most:
		p.AboveMax++
	case low < least || high > most:
		p.WithinOpen++
	default:
		return
	}
	if !certain && (d < least || d > most) {
		p.Undecided++
	}
	if p.Beyond != nil && (p.certain && !certain || p.certain == certain && p.Beyond.DurationNs >= d) {
		return
	}
	p.certain = certain
	p.Beyond = p.caseOf(key, b, e, d, low, high, l)
}

// caseOf describes a pair.
func (p *pairing) caseOf(key []byte, b, e waiting, d, low, high int64, l *trace.Schema) *Case {
	_, _, bounded := b.between(&e.stamp, d)
	c := &Case{BeginNs: b.time, DurationNs: d, LowNs: low, HighNs: high, Bounded: bounded, Order: b.order(&e.stamp), From: l.Hosts[b.host], To: l.Hosts[e.host]}
	if len(p.Key) > 0 {
		c.Key = keyText(key)
	}
	return c
}

// end counts what stayed open and sums up.
func (p *pairing) end(l *trace.Schema) {
	p.giveUpAll(l)
	p.NoBegin += int64(len(p.early))
	if p.Count == 0 {
		return
	}
	p.MeanNs = p.sum / float64(p.Count)
	slices.Sort(p.durations)
	n := len(p.durations)
	p.MedianNs, p.P99Ns = p.durations[n/2], p.durations[n*99/100]
}

// Results returns what became of the pairs, after Close.
func (f *Filter) Results() []Result {
	results := make([]Result, len(f.pairs))
	for i := range f.pairs {
		results[i] = f.pairs[i].Result
	}
	return results
}

// Warnings says in words what the pairs found amiss.
func (f *Filter) Warnings(w *trace.Warnings) {
	for i := range f.pairs {
		p := &f.pairs[i].Result
		subject := "pair " + p.Name
		add := func(n int64, kind string) {
			if n > 0 {
				w.AddN(subject, kind, "", n)
			}
		}
		if p.Count == 0 {
			w.Add(subject, "no pair found", f.pairs[i].missing())
		}
		add(p.NoEnd, "begins without an end")
		add(p.NoBegin, "ends without a begin")
		add(p.OutOfOrder, "ends before their begins")
		add(p.NoKey, "events without the key's fields")
		add(p.BelowMin, fmt.Sprintf("shorter than %v", f.o.Pairs[i].Min))
		add(p.AboveMax, fmt.Sprintf("longer than %v", f.o.Pairs[i].Max))
		add(p.Undecided, "beyond a threshold by less than the clocks' bounds and granularity")
	}
}

// missing names the events of a pair of which there are none; "" if there are both.
func (p *pairing) missing() string {
	switch {
	case !p.anyBegin && !p.anyEnd && p.Begin != p.End:
		return fmt.Sprintf("no event is named %s, none %s", p.Begin, p.End)
	case !p.anyBegin:
		return "no event is named " + p.Begin
	case !p.anyEnd:
		return "no event is named " + p.End
	}
	return ""
}
