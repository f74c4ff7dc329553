package file

import (
	"fmt"
	"io"
	"strings"
)

// Plan writes what would run where, and when, for people.
func (e *Experiment) Plan(w io.Writer, place string) error {
	var out strings.Builder
	for i := range e.Runs {
		e.Runs[i].plan(&out, e.Name, i, len(e.Runs), place)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (r *Run) plan(out *strings.Builder, name string, i, n int, place string) {
	if place == "" {
		place = r.Place
	}
	if place == "" {
		place = "namespaces, or processes without privileges"
	}
	fmt.Fprintf(out, "run %d of %d: %s", i+1, n, name)
	for _, v := range r.Values {
		fmt.Fprintf(out, ", %s=%s", v.Name, v.Text)
	}
	if r.Repeat > 1 {
		fmt.Fprintf(out, ", repeat %d", r.Repeat)
	}
	fmt.Fprintf(out, "\n  on %s, at most %v\n", place, r.Timeout)
	for _, h := range r.Hosts {
		fmt.Fprintf(out, "  host %s\n", h.Name)
		for _, d := range r.Daemons {
			for _, on := range d.Hosts {
				if on == h.Name {
					fmt.Fprintf(out, "    %s: %s\n", d.Name, d.program())
				}
			}
		}
	}
	for _, l := range r.Links {
		fmt.Fprintf(out, "  link %s - %s%s\n", l.Between[0], l.Between[1], l.properties())
	}
	out.WriteString("  all daemons wait; then\n")
	for k, b := range r.Schedule {
		fmt.Fprintf(out, "  %d. %s\n", k+1, b.Name)
		for _, p := range b.Phases {
			fmt.Fprintf(out, "       %s.%s on %s", p.Daemon, p.Phase, strings.Join(p.Hosts, ", "))
			if p.Timeout > 0 {
				fmt.Fprintf(out, ", at most %v", p.Timeout)
			}
			out.WriteByte('\n')
		}
	}
	for _, c := range r.Expect {
		fmt.Fprintf(out, "  expect %s (%s)\n", c.Name, c.Kind)
	}
}

// program is what a daemon is, in words.
func (d *Daemon) program() string {
	switch {
	case d.Use != "":
		return "the standard daemon " + d.Use
	case d.Shell != "":
		return "sh -c " + d.Shell
	}
	return strings.Join(d.Run, " ")
}

// properties is what a link is like, in words.
func (l *Link) properties() string {
	var out strings.Builder
	if l.Rate > 0 {
		fmt.Fprintf(&out, ", %d bit/s", l.Rate)
	}
	if l.Buffer > 0 {
		fmt.Fprintf(&out, ", buffer of %d bytes", l.Buffer)
	}
	if l.Delay > 0 {
		fmt.Fprintf(&out, ", delay %v", l.Delay)
	}
	if l.Loss > 0 {
		fmt.Fprintf(&out, ", loss %g%%", l.Loss*100)
	}
	return out.String()
}
