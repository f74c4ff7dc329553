package kernel

import (
	"strconv"

	"meridian/trace"
)

// input is the source and its current event.
type input struct {
	src     trace.Source
	event   trace.Event
	values  []trace.Value // of event, if fetched
	fetched bool
}

// fields returns the values of src's event, decoded once.
func (in *input) fields() []trace.Value {
	if !in.fetched {
		in.values, in.fetched = in.src.Values(), true
	}
	return in.values
}

// classTable has the meanings of src's classes and the classes of the timeline that are made of them.
type classTable struct {
	input
	meanings  []meaning      // of each class of src
	kernel    bool           // some class is of a kernel
	scheduled bool           // switches are recorded
	kinds     map[string]int // numbers of the kinds of slices
	runs      int            // the kind of a thread's running
	classes   []trace.Class
	outs      map[outKey]int
	labels    map[labelKey]string
}

// outKey names a class of the timeline: events of one of src's classes, under one name.
type outKey struct {
	raw  int
	name string
}

// labelKey names a name that was made of a number.
type labelKey struct {
	raw    int
	number int64
}

// maxNames bounds the names that one class can take from its events.
const maxNames = 4096

// class returns the number of a class of the timeline, whose events are those of a class of src under a name.
func (t *classTable) class(raw int, name, category string) int {
	key := outKey{raw, name}
	if n, ok := t.outs[key]; ok {
		return n
	}
	c := t.src.Classes()[raw]
	c.Name, c.Category = name, category
	if t.meanings[raw].wide {
		c.Fields = append(c.Fields[:len(c.Fields):len(c.Fields)], trace.Field{Name: "cpu_id", Type: trace.Type{Kind: trace.Uint, Bits: 32}})
		c.Context++
	}
	n := len(t.classes)
	t.classes = append(t.classes, c)
	t.outs[key] = n
	return n
}

// named is class for names that events bring; the class's own name stands in when there are too many.
func (t *classTable) named(m *meaning, name string) int {
	if n, ok := t.outs[outKey{m.raw, name}]; ok {
		return n
	}
	if m.names == maxNames {
		return m.out
	}
	m.names++
	return t.class(m.raw, name, m.category)
}

// softirqs are the names of Linux's softirqs by number.
var softirqs = [...]string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"}

// title returns the name of the slice that src's event begins. It lasts until the next.
func (t *classTable) title(m *meaning) string {
	if m.label == fixed {
		return m.name
	}
	values := t.fields()
	n, ok := number(values, m.number)
	if !ok {
		return m.name
	}
	key := labelKey{m.raw, n}
	if name, ok := t.labels[key]; ok {
		return name
	}
	var name string
	switch m.label {
	case irqLabel:
		name = "irq " + strconv.FormatInt(n, 10)
		if of := text(values, m.device); len(of) > 0 {
			name += " " + string(of)
		}
	case softLabel:
		name = "softirq " + strconv.FormatInt(n, 10)
		if n >= 0 && n < int64(len(softirqs)) {
			name = "softirq " + softirqs[n]
		}
	case addressed:
		name = "0x" + strconv.FormatUint(uint64(n), 16)
	}
	if len(t.labels) < 16*maxNames {
		t.labels[key] = name
	}
	return name
}
