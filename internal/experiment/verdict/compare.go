//go:build unix

package verdict

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"meridian/internal/compare"
)

// ReadAll reads the reports of a directory of results: of its one run, or of all. Runs that did not end well have no durations to
// compare: failed says how many.
func ReadAll(dir string) (reports []*Report, failed int, err error) {
	paths, err := filepath.Glob(filepath.Join(escape(dir), "run-*", ReportName))
	if err != nil {
		return nil, 0, err
	}
	if len(paths) == 0 {
		paths = []string{filepath.Join(dir, ReportName)}
	}
	for _, path := range paths {
		r, err := Read(filepath.Dir(path))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: want a directory of results of 'meridian run'", err)
		}
		if err != nil {
			return nil, 0, err
		}
		if r.State == Ended {
			reports = append(reports, r)
		} else {
			failed++
		}
	}
	if len(reports) == 0 {
		return nil, failed, fmt.Errorf("%s: no run that ended well; its %s says why", dir, ReportName)
	}
	return reports, failed, nil
}

// escape takes the meaning from characters of patterns.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// Comparison is what differs between the runs of two directories.
type Comparison struct {
	A      string      `json:"a"`
	B      string      `json:"b"`
	Checks []Answered  `json:"checks"`
	Rows   []Compared  `json:"rows"`
	Only   []string    `json:"only,omitempty"` // what one of them alone has
	Runs   [2]int      `json:"runs"`           // that ended well
	Failed [2]int      `json:"failed"`         // runs that did not, and are left out
	Text   [2][]string `json:"versions"`       // that differ
}

// Answered is a check of both: how often it had which answer.
type Answered struct {
	What    string `json:"what"`
	A       Counts `json:"a"`
	B       Counts `json:"b"`
	Differs bool   `json:"differs"`
}

// Counts are numbers of answers.
type Counts struct {
	Yes       int `json:"yes"`
	No        int `json:"no"`
	Undecided int `json:"undecided"`
}

func (n *Counts) add(a Answer) {
	switch a {
	case Yes:
		n.Yes++
	case No:
		n.No++
	default:
		n.Undecided++
	}
}

func (n Counts) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		name Answer
	}{{n.Yes, Yes}, {n.No, No}, {n.Undecided, Undecided}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.name))
		}
	}
	return strings.Join(parts, ", ")
}

// Word says whether the answers differ, as that of a row.
func (a *Answered) Word() string { return map[bool]string{true: "differs", false: "same"}[a.Differs] }

// Compared is a duration of both. What is known of it is an interval: what repeats had, widened by the bound of the clocks.
type Compared struct {
	What    string     `json:"what"`
	A       Interval   `json:"a_ns"`
	B       Interval   `json:"b_ns"`
	Differs *bool      `json:"differs"` // null: with one run a side, noise is not known
	Change  [2]float64 `json:"change"`  // of the medians, as a part of a; and the least that the intervals allow
}

// Interval is the median of several measurements, with what they and the bounds allow.
type Interval struct{ compare.Interval }

// series are the measurements of runs, by what they measure, in the order in which they appear.
type series struct {
	names  []string
	values map[string][]int64
	bound  map[string]int64 // of a value; -1 for none
}

func (s *series) add(name string, value, bound int64) {
	if s.values[name] == nil {
		s.names = append(s.names, name)
	}
	s.values[name] = append(s.values[name], value)
	if s.bound[name] >= 0 && bound >= 0 {
		s.bound[name] = max(s.bound[name], bound)
	} else {
		s.bound[name] = -1
	}
}

// prefix names the combination of the matrix.
func (r *Report) prefix() (text string) {
	for _, v := range r.Values {
		text += v.Name + "=" + v.Text + ", "
	}
	return text
}

// answers counts the answers of both by checks, in the order in which they appear. A check that one of them alone has differs.
func answers(a, b []*Report) (all []Answered) {
	at := make(map[string]int)
	for side, reports := range [][]*Report{a, b} {
		for _, r := range reports {
			for _, c := range r.Checks {
				name := r.prefix() + "check " + c.Name
				i, known := at[name]
				if !known {
					i, at[name] = len(all), len(all)
					all = append(all, Answered{What: name})
				}
				if side == 0 {
					all[i].A.add(c.Answer)
				} else {
					all[i].B.add(c.Answer)
				}
			}
		}
	}
	for i := range all {
		// Of different numbers of runs, the parts are compared.
		x, y := all[i].A, all[i].B
		n, m := x.Yes+x.No+x.Undecided, y.Yes+y.No+y.Undecided
		all[i].Differs = n == 0 || m == 0 || x.Yes*m != y.Yes*n || x.No*m != y.No*n
	}
	return all
}

// measurements are the durations of phases, each by one clock, and of pairs.
func measurements(reports []*Report) *series {
	s := &series{values: make(map[string][]int64), bound: make(map[string]int64)}
	for _, r := range reports {
		prefix := r.prefix()
		for i, b := range r.Run.Blocks {
			block := fmt.Sprintf("block %d", i+1)
			if b.Name != block {
				block += " (" + b.Name + ")"
			}
			for _, c := range b.Calls {
				s.add(fmt.Sprintf("%s%s %s.%s on %s", prefix, block, c.Daemon, c.Phase, c.Host), c.EndedNs-c.BeganNs, 0)
			}
		}
		for _, c := range r.Checks {
			if p := c.Pair; p != nil && p.Count > 0 {
				bound := p.BoundNs
				if p.Unbounded > 0 {
					bound = -1
				}
				s.add(prefix+"pair "+p.Name+" p50", p.MedianNs, bound)
				s.add(prefix+"pair "+p.Name+" p99", p.P99Ns, bound)
			}
		}
	}
	return s
}

func (s *series) interval(name string) (i Interval, bounded bool) {
	v := slices.Sorted(slices.Values(s.values[name]))
	b := s.bound[name]
	return Interval{compare.Of(v, max(b, 0))}, b >= 0
}

// Compare compares the runs of two directories.
func Compare(a, b []*Report, nameA, nameB string) *Comparison {
	c := &Comparison{A: nameA, B: nameB, Runs: [2]int{len(a), len(b)}, Checks: answers(a, b)}
	of, with := measurements(a), measurements(b)
	for _, name := range of.names {
		if with.values[name] == nil {
			c.Only = append(c.Only, nameA+": "+name)
			continue
		}
		x, boundedX := of.interval(name)
		y, boundedY := with.interval(name)
		row := Compared{What: name, A: x, B: y, Change: compare.Change(x.Interval, y.Interval)}
		row.Differs = compare.Differ(x.Interval, y.Interval, boundedX && boundedY, compare.LeastRepeats)
		c.Rows = append(c.Rows, row)
	}
	for _, name := range with.names {
		if of.values[name] == nil {
			c.Only = append(c.Only, nameB+": "+name)
		}
	}
	c.versions(a[0], b[0])
	return c
}

// versions notes what of the hosts' versions differs.
func (c *Comparison) versions(a, b *Report) {
	for _, x := range a.Run.Hosts {
		for _, y := range b.Run.Hosts {
			if x.Name != y.Name || x.Hello == nil || y.Hello == nil {
				continue
			}
			for _, v := range [][2]string{{x.Hello.Kernel, y.Hello.Kernel}, {x.Hello.Meridian, y.Hello.Meridian}, {x.Hello.System, y.Hello.System}, {x.Where, y.Where}} {
				if v[0] != v[1] {
					c.Text[0], c.Text[1] = append(c.Text[0], x.Name+": "+v[0]), append(c.Text[1], y.Name+": "+v[1])
				}
			}
		}
	}
}

// Word says whether a row differs.
func (r *Compared) Word() string {
	switch {
	case r.Differs == nil:
		return "unknown"
	case *r.Differs:
		return "differs"
	}
	return "within noise and bounds"
}

func (i Interval) String() string {
	return fmt.Sprintf("%s [%s, %s]", short(i.Median), short(i.Low), short(i.High))
}

// Percent is the change of the medians.
func (r *Compared) Percent() string { return fmt.Sprintf("%+.1f%%", r.Change[0]*100) }

// Side names one of both, with its number of runs.
func (c *Comparison) Side(i int) string {
	name, runs := c.A, "runs"
	if i == 1 {
		name = c.B
	}
	if c.Runs[i] == 1 {
		runs = "run"
	}
	if c.Failed[i] > 0 {
		return fmt.Sprintf("%s (%d %s, without %d that failed)", name, c.Runs[i], runs, c.Failed[i])
	}
	return fmt.Sprintf("%s (%d %s)", name, c.Runs[i], runs)
}

// Notes are lines below the table.
func (c *Comparison) Notes() (lines []string) {
	for _, line := range c.Only {
		lines = append(lines, "only in "+line)
	}
	for i := range c.Text[0] {
		lines = append(lines, "version "+c.Text[0][i]+", and "+c.Text[1][i])
	}
	if min(c.Runs[0], c.Runs[1]) < compare.LeastRepeats {
		lines = append(lines, fmt.Sprintf("noise is known from %d runs of each on: repeat: %[1]d", compare.LeastRepeats))
	}
	return lines
}

// Table writes the comparison for people.
func (c *Comparison) Table(to io.Writer) error {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "what\t%s\t%s\tchange\t\n", printable(c.Side(0)), printable(c.Side(1)))
	for i := range c.Checks {
		a := &c.Checks[i]
		fmt.Fprintf(w, "%s\t%v\t%v\t\t%s\n", printable(a.What), a.A, a.B, a.Word())
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		fmt.Fprintf(w, "%s\t%v\t%v\t%s\t%s\n", printable(r.What), r.A, r.B, r.Percent(), r.Word())
	}
	_ = w.Flush() // into memory
	for _, line := range c.Notes() {
		fmt.Fprintln(&out, printable(line))
	}
	_, err := io.WriteString(to, out.String())
	return err
}

var comparePage = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>{{.A}} and {{.B}}</title>
<style>body{font:14px sans-serif;margin:2em}td,th{padding:.2em 1em;text-align:left}tr:nth-child(even){background:#f4f4f4}.differs{font-weight:bold;color:#b00}</style>
<h1>{{.A}} and {{.B}}</h1>
<p>Medians, and in brackets what repeats and the clocks' bounds allow.</p>
<table><tr><th>what<th>{{.Side 0}}<th>{{.Side 1}}<th>change<th></tr>
{{range .Checks}}<tr class="{{.Word}}"><td>{{.What}}<td>{{.A}}<td>{{.B}}<td><td>{{.Word}}</tr>
{{end}}{{range .Rows}}<tr class="{{.Word}}"><td>{{.What}}<td>{{.A}}<td>{{.B}}<td>{{.Percent}}<td>{{.Word}}</tr>
{{end}}</table>
{{range .Notes}}<p>{{.}}</p>{{end}}
</html>
`))

// WritePage writes the comparison as a page.
func (c *Comparison) WritePage(path string) error {
	var out strings.Builder
	page := struct {
		*Comparison
		Rows   []*Compared // templates call methods of pointers
		Checks []*Answered
	}{Comparison: c}
	for i := range c.Rows {
		page.Rows = append(page.Rows, &c.Rows[i])
	}
	for i := range c.Checks {
		page.Checks = append(page.Checks, &c.Checks[i])
	}
	if err := comparePage.Execute(&out, page); err != nil {
		return err
	}
	return whole(path, []byte(out.String()))
}

// Write writes the comparison as JSON.
func (c *Comparison) Write(to io.Writer) error {
	e := json.NewEncoder(to)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

// Repeatable returns the directories of the runs that results have, in the order in which they ran: each has its file as resolved.
func Repeatable(dir string) (dirs []string, err error) {
	if _, err := os.Stat(filepath.Join(dir, resolvedName)); err == nil {
		return []string{dir}, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(escape(dir), "run-*", resolvedName))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		dirs = append(dirs, filepath.Dir(path))
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("%s: no %s in it or in run-*: want a directory of results of 'meridian run'", dir, resolvedName)
	}
	slices.SortFunc(dirs, func(a, b string) int { // run-1000 is after run-999
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	return dirs, nil
}
