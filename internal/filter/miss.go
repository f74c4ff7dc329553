package filter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"meridian/trace"
)

// Miss is a part of what was asked for that fits nothing.
type Miss struct {
	Asked  string // as the command line has it: "--host wbe"
	Why    string // "" if [Filter.Warnings] says it
	Absent bool   // it names what is not there, so the output lacks it; else nothing meets a condition, which is an answer
}

// maxNames is how many names a miss lists, and maxDistance how many edits may lie between a name and one of the nearest.
const (
	maxNames    = 6
	maxDistance = 3
)

// Misses returns what of the options but hosts fits nothing, once all records were written: an output lacks that without a sign. Names are
// those that could have been meant: of events and fields all that the sources know, also where no such event came.
func (f *Filter) Misses(names []trace.Class) []Miss {
	var misses []Miss
	check := func(flag, what string, patterns, known []string, matches func(pattern []string) bool) {
		for _, p := range patterns {
			if !strings.HasPrefix(p, "!") && !matches([]string{p}) {
				misses = append(misses, Miss{flag + " " + p, "matches no " + what + suggestion(what, p, known), true})
			}
		}
	}
	came := f.classesThatCame()
	event := func(p []string) bool {
		return slices.ContainsFunc(came, func(c *trace.Class) bool { return MatchClass(p, c) })
	}
	field := func(p []string) bool {
		return slices.ContainsFunc(came, func(c *trace.Class) bool {
			return slices.ContainsFunc(c.Fields, func(field trace.Field) bool { return Match(p, field.Name) })
		})
	}
	var rows, events, fields []string
	for _, s := range f.schema.Streams {
		rows = append(rows, s.Name)
	}
	for _, c := range names {
		events = append(events, c.Name)
		for _, x := range c.Fields {
			fields = append(fields, x.Name)
		}
	}
	check("--stream", "row", f.o.Streams, rows, func(p []string) bool {
		return slices.ContainsFunc(rows, func(name string) bool { return Match(p, name) })
	})
	check("--event", "event", f.o.Events, events, event)
	check("--field", "field", f.o.Fields, fields, field)
	misses = append(misses, f.missedConditions(came, fields)...)
	from, to := f.Found()
	for _, edge := range []struct {
		flag, event string
		found       bool
	}{{"--from-event", f.o.From.Event, from}, {"--to-event", f.o.To.Event, to}} {
		if !edge.found {
			misses = append(misses, Miss{edge.flag + " " + edge.event, "no such event comes in what is selected" + suggestion("event", edge.event, events), true})
		}
	}
	for i := range f.pairs {
		if p := &f.pairs[i]; p.missing() != "" {
			misses = append(misses, Miss{Asked: "--pair " + p.Pair.Name, Absent: true})
		}
	}
	return misses
}

// MissedHosts returns the patterns of hosts that match none of the names. It stands apart from [Filter.Misses] because hosts are
// known before any event is read, and packets are chosen by them too.
func MissedHosts(patterns, hosts []string) (misses []Miss) {
	for _, p := range patterns {
		one := []string{p}
		if !strings.HasPrefix(p, "!") && !slices.ContainsFunc(hosts, func(name string) bool { return Match(one, name) }) {
			misses = append(misses, Miss{"--host " + p, "matches no host" + suggestion("host", p, hosts), true})
		}
	}
	return misses
}

// classesThatCame returns the types of which there were events, selected or not.
func (f *Filter) classesThatCame() (came []*trace.Class) {
	for i := range f.schema.Classes {
		if i < len(f.came) && f.came[i] {
			came = append(came, &f.schema.Classes[i])
		}
	}
	return came
}

// missedConditions names the conditions that no event meets: those on fields that no event has, or else all together.
func (f *Filter) missedConditions(came []*trace.Class, fields []string) (misses []Miss) {
	if f.met || len(f.o.Where) == 0 {
		return nil
	}
	var all []string
	for i := range f.o.Where {
		c := &f.o.Where[i]
		all = append(all, c.String())
		has := func(of *trace.Class) bool { return find(of.Fields, c.Field) != nil }
		if !slices.ContainsFunc(came, has) {
			misses = append(misses, Miss{"--where " + c.String(), "no event has the field " + c.Field + suggestion("field", c.Field, fields), true})
		}
	}
	if misses == nil {
		misses = []Miss{{Asked: "--where " + strings.Join(all, " --where "), Why: "no event meets it, of those that the other filters leave"}}
		if len(all) > 1 {
			misses[0].Why = "no event meets all, of those that the other filters leave"
		}
	}
	return misses
}

// suggestion says which names there are, or the nearest of many: "; there are db, web".
func suggestion(what, pattern string, known []string) string {
	known = slices.Clone(known)
	slices.Sort(known)
	known = slices.Compact(known)
	if len(known) == 0 {
		return "; there is no " + what
	}
	if len(known) <= maxNames {
		return "; there " + isOrAre(len(known)) + " " + strings.Join(known, ", ")
	}
	near := Nearest(pattern, known)
	if len(near) == 0 {
		return fmt.Sprintf("; there are %d, such as %s", len(known), strings.Join(known[:maxNames/2], ", "))
	}
	return "; the nearest of " + fmt.Sprint(len(known)) + ": " + strings.Join(near, ", ")
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Nearest returns the known names that a pattern may have meant, the best first: those that hold its text in upper or lower case,
// and those that are few edits apart.
func Nearest(pattern string, known []string) []string {
	text := strings.ToLower(strings.Trim(pattern, "*?"))
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, name := range known {
		lower := strings.ToLower(name)
		_, short, qualified := strings.Cut(lower, ":")
		d := Distance(text, lower)
		if qualified {
			d = min(d, Distance(text, short))
		}
		if text != "" && strings.Contains(lower, text) {
			d = min(d, 1)
		}
		if d <= min(maxDistance, len(text)/2) {
			found = append(found, candidate{name, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, c := range found[:min(len(found), maxNames)] {
		names = append(names, c.name)
	}
	return names
}

// Distance returns how many bytes must be inserted, dropped or replaced to turn one word into another (Levenshtein 1966).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := corner
			if a[i] != b[j] {
				changed++
			}
			corner = row[j+1]
			row[j+1] = min(changed, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}
