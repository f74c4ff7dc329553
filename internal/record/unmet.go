package record

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"meridian/internal/filter"
	"meridian/trace"
)

// Unmet is a trigger that no event could have met: none of the declared ones has its name, or none of these has its fields.
type Unmet struct {
	Trigger string `json:"trigger"`
	Why     string `json:"why"`
}

// maxTriggerNames limits the names of events that are kept to suggest one of them.
const maxTriggerNames = 4096

// triggerChecks finds triggers that no declared event can meet. The sources' goroutines and that of Run use it.
type triggerChecks struct {
	warn func(line string)

	mu    sync.Mutex
	all   []triggerCheck
	names map[string]bool // CATEGORY:NAME of the events that were declared
}

type triggerCheck struct {
	trigger *Trigger
	named   bool   // an event of this name was declared
	able    bool   // with all fields
	lacks   string // of the first event without them
	warned  map[string]bool
}

func newTriggerChecks(o *Options) *triggerChecks {
	c := &triggerChecks{warn: o.Warn, names: map[string]bool{}}
	if c.warn == nil {
		c.warn = func(line string) { o.Warnings.Add("--trigger", line, "") }
	}
	for i := range o.Trigger {
		c.all = append(c.all, triggerCheck{trigger: &o.Trigger[i], warned: map[string]bool{}})
	}
	return c
}

// declared takes note of the class of an event. A trigger of just this name whose fields it lacks is a warning at once.
func (c *triggerChecks) declared(class *trace.Class) {
	if c == nil || len(c.all) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	name := class.Name
	if class.Category != "" && !strings.HasPrefix(name, class.Category+":") { // which those of rings have
		name = class.Category + ":" + class.Name
	}
	if len(c.names) < maxTriggerNames {
		c.names[name] = true
	}
	for i := range c.all {
		x := &c.all[i]
		if !x.trigger.names(class) {
			continue
		}
		x.named = true
		lacks := lacking(x.trigger, name, class)
		if lacks == "" {
			x.able = true
			continue
		}
		if x.lacks == "" {
			x.lacks = lacks
		}
		if !strings.ContainsAny(x.trigger.Event, "*?") && !x.warned[name] {
			x.warned[name] = true
			c.warn(fmt.Sprintf("--trigger %s: %s", x.trigger, lacks))
		}
	}
}

// names reports whether a trigger selects the events of a class, whatever their fields.
func (t *Trigger) names(c *trace.Class) bool {
	return filter.MatchClass([]string{t.Event}, c)
}

// lacking says which of a trigger's fields a class lacks, "" for none.
func lacking(t *Trigger, name string, c *trace.Class) string {
	for i := range t.Where {
		if filter.NewMatcher(t.Where[i:i+1], c.Fields) != nil {
			continue
		}
		var fields []string
		for _, f := range c.Fields {
			fields = append(fields, f.Name)
		}
		has := "it has none"
		if len(fields) > 0 {
			has = "it has " + strings.Join(fields, ", ")
		}
		return fmt.Sprintf("%s has no field %s; %s", name, t.Where[i].Field, has)
	}
	return ""
}

// unmet returns the triggers that no declared event can have met.
func (c *triggerChecks) unmet() (all []Unmet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.all {
		x := &c.all[i]
		switch {
		case x.able:
		case x.named:
			all = append(all, Unmet{x.trigger.String(), x.lacks})
		default:
			all = append(all, Unmet{x.trigger.String(), "no program or source has an event of this name" + c.nearest(x.trigger.Event)})
		}
	}
	return all
}

// nearest suggests names of events that were declared.
func (c *triggerChecks) nearest(event string) string {
	var known []string
	for name := range c.names {
		known = append(known, name)
	}
	slices.Sort(known)
	near := filter.Nearest(event, known)
	if len(near) == 0 {
		return ""
	}
	return "; the nearest: " + strings.Join(near, ", ")
}
