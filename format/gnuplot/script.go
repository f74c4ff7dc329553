package gnuplot

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"meridian/clock"
	"meridian/trace"
)

// colours are those of Okabe and Ito (2008), which the colour-blind tell apart, without the yellow that is too pale for
// thin boxes.
var colours = []string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8b7bc8", "#7f6a3f"}

const grey = "#9aa5b1"

// script writes everything.
func (g *Writer) script() error {
	out := bufio.NewWriterSize(g.out, 64<<10)
	lanes, of := g.lanes()
	colour, named := g.classes()
	span := max(clock.Sub(g.last, g.first), 1)
	height := float64(len(lanes))

	fmt.Fprint(out, "# A timeline by meridian, for gnuplot 5 and later. Draw it in a window with\n#   gnuplot -p FILE\n# or take the # away in front of these lines:\n")
	fmt.Fprintf(out, "# set terminal pngcairo size 1600,%d\n# set output 'timeline.png'\n\n", 160+28*len(lanes))
	fmt.Fprint(out, "reset\nset encoding utf8\n")
	title, note := g.title()
	fmt.Fprintf(out, "set title %s.\"\\n\".%s noenhanced\n", quoted(title), quoted(note))
	fmt.Fprintf(out, "set xlabel %s noenhanced\n", quoted("time, s since "+time.Unix(0, int64(g.first)).UTC().Format("2006-01-02 15:04:05.999999999")+" UTC"))
	out.WriteString("set format x '%.9g'\nset grid x lc rgb '#e3e8ed' lt 1\nset border 1 lc rgb '#5d6975'\nset tics nomirror\nset ytics scale 0\n")
	fmt.Fprint(out, "set bmargin 6\nset key at screen 0.5,0.01 center bottom horizontal noenhanced samplen 2\nset style fill solid 0.85 noborder\n")
	fmt.Fprintf(out, "set xrange [0:%s]\nset yrange [%g:-1]\n", seconds(span), height)
	fmt.Fprint(out, "set ytics noenhanced ()\n")
	for i, l := range lanes {
		// The label of a tic is a format.
		fmt.Fprintf(out, "set ytics add (%s %d)\n", quoted(strings.ReplaceAll(l.label, "%", "%%")), i)
		if i > 0 && l.host != lanes[i-1].host {
			fmt.Fprintf(out, "set arrow from graph 0, first %g to graph 1, first %g nohead lc rgb '#5d6975' lw 0.6 back\n", float64(i)-0.5, float64(i)-0.5)
		}
	}

	// A block without lines would be an error in gnuplot, so each is announced only with its first line.
	var plots []string
	for c := range len(named) + 1 {
		label, rgb := "other slices", grey
		if c < len(named) {
			label, rgb = named[c], colours[c]
		}
		name := "$slices" + strconv.Itoa(c)
		n := 0
		for i := range g.rows {
			for _, s := range g.rows[i].slices {
				if k, ok := colour[int(s.class)]; ok && k != c || !ok && c < len(named) {
					continue
				}
				if n++; n == 1 {
					fmt.Fprintf(out, "%s << EOD\n", name)
				}
				// gnuplot: x y xlow xhigh ylow yhigh
				half := 0.36 * shrink(s.depth)
				if whole := int64(s.end - s.start); s.busy < whole { // made of several
					half *= max(0.1, float64(s.busy)/float64(whole))
				}
				y := float64(of[i])
				fmt.Fprintf(out, "%s %g %s %s %g %g\n", g.at(s.start), y, g.at(s.start), g.at(s.end), y-half, y+half)
			}
		}
		if n > 0 {
			fmt.Fprint(out, "EOD\n")
			plots = append(plots, fmt.Sprintf("%s using 1:2:3:4:5:6 with boxxyerror lc rgb '%s' title %s noenhanced", name, rgb, quoted(label)))
		}
	}
	block := func(name, style, title string, each func(yield func(string))) {
		n := 0
		each(func(line string) {
			if n++; n == 1 {
				fmt.Fprintf(out, "%s << EOD\n", name)
			}
			fmt.Fprintln(out, line)
		})
		if n > 0 {
			fmt.Fprint(out, "EOD\n")
			plots = append(plots, fmt.Sprintf("%s %s title %s noenhanced", name, style, quoted(title)))
		}
	}
	block("$ticks", "using 1:2:3:4 with vectors nohead lc rgb '#17212b' lw 1", "instants", func(yield func(string)) {
		for i := range g.rows {
			for _, at := range g.rows[i].ticks {
				yield(fmt.Sprintf("%s %g 0 0.6", g.at(at), float64(of[i])-0.3))
			}
		}
	})
	for _, inverted := range []bool{false, true} {
		name, style, title := "$messages", "using 1:2:3:4 with vectors filled head size screen 0.006,20 lc rgb '#44505c' lw 1", "messages"
		if inverted {
			name, style, title = "$inversions", "using 1:2:3:4 with vectors filled head size screen 0.006,20 lc rgb '#cf1f2e' lw 1.6", "received before sent"
		}
		block(name, style, title, func(yield func(string)) {
			for _, a := range g.arrows {
				if a.inverted() == inverted {
					yield(fmt.Sprintf("%s %d %s %d", g.at(a.from.at), of[a.from.stream], seconds(clock.Sub(a.to.at, a.from.at)), of[a.to.stream]-of[a.from.stream]))
				}
			}
		})
	}
	block("$bounds", "using 1:2:3:4 with xerrorbars pt 7 ps 0.4 lc rgb '#b07400'", "bounds of messages' ends", func(yield func(string)) {
		for _, a := range g.arrows {
			for _, e := range []end{a.from, a.to} {
				if e.low != e.at || e.high != e.at {
					yield(fmt.Sprintf("%s %d %s %s", g.at(e.at), of[e.stream], g.at(e.low), g.at(e.high)))
				}
			}
		}
	})
	if len(plots) == 0 {
		plots = []string{"-100 notitle"} // nothing to see: a line beyond what is shown
	}
	fmt.Fprintf(out, "plot %s\n", strings.Join(plots, ", \\\n     "))
	return out.Flush()
}

// shrink is how much lower a slice within others is.
func shrink(depth int32) float64 {
	h := 1.0
	for range min(depth, 6) {
		h *= 0.75
	}
	return h
}

// title says what is shown and by which method, and below how much of it.
func (g *Writer) title() (title, note string) {
	if title = g.schema.Title; title == "" {
		title = "timeline"
	}
	title = brief(title, 100)
	if g.schema.Method != "" {
		title += ", clocks by " + brief(g.schema.Method, 60)
	}
	note = fmt.Sprintf("%d events, %d messages", g.records, g.messages)
	if g.inverted > 0 {
		note += fmt.Sprintf(", %d received before sent", g.inverted)
	}
	if g.quantum > 0 {
		note += fmt.Sprintf("; what is nearer than %s s is drawn as one", seconds(g.quantum))
	}
	if g.pace > 0 {
		note += fmt.Sprintf("; %d arrows drawn", len(g.arrows))
	}
	return title, note
}

// lane is a row of the picture.
type lane struct {
	label, host string
	kernel      bool
}

// lanes places the streams: host by host, the kernel's rows above, the quietest sharing one where there are too many.
func (g *Writer) lanes() (lanes []lane, of []int) {
	of = make([]int, len(g.rows))
	hosts := make(map[string]int)
	for i, h := range g.schema.Hosts {
		if _, ok := hosts[h]; !ok {
			hosts[h] = i
		}
	}
	var used []int
	for i := range g.rows {
		if g.rows[i].count > 0 {
			used = append(used, i)
		}
	}
	kernel := func(i int) bool {
		k := g.schema.Streams[i].Kind
		return k == trace.CPU || k == trace.Interrupt || k == trace.Device
	}
	own := make(map[int]bool)
	busiest := slices.Clone(used)
	slices.SortStableFunc(busiest, func(a, b int) int { return cmp.Compare(g.rows[b].count, g.rows[a].count) })
	for n, i := range busiest {
		own[i] = n < g.options.Rows
	}
	side := func(i int) int {
		if kernel(i) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(used, func(a, b int) int {
		sa, sb := &g.schema.Streams[a], &g.schema.Streams[b]
		shared := func(i int) int {
			if own[i] {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(hosts[sa.Host], hosts[sb.Host]), cmp.Compare(sa.Host, sb.Host), cmp.Compare(side(a), side(b)),
			cmp.Compare(shared(a), shared(b)), cmp.Compare(sa.Kind, sb.Kind), cmp.Compare(sa.ID, sb.ID))
	})
	for n, i := range used {
		s := &g.schema.Streams[i]
		l := lane{label: brief(s.Host, 24) + "  " + brief(s.Name, 32), host: s.Host, kernel: kernel(i)}
		if !own[i] {
			l.label = brief(s.Host, 24) + "  other rows"
			if l.kernel {
				l.label = brief(s.Host, 24) + "  kernel, other rows"
			}
			if n > 0 && !own[used[n-1]] && lanes[len(lanes)-1] == l {
				of[i] = len(lanes) - 1
				continue
			}
		}
		of[i] = len(lanes)
		lanes = append(lanes, l)
	}
	return lanes, of
}

// classes gives colours to the classes that take most time.
func (g *Writer) classes() (colour map[int]int, named []string) {
	var all []int
	for c := range g.spent {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b int) int { return cmp.Or(cmp.Compare(g.spent[b], g.spent[a]), cmp.Compare(a, b)) })
	colour = make(map[int]int)
	for _, c := range all[:min(len(all), len(colours))] {
		name := "?"
		if c >= 0 && c < len(g.schema.Classes) {
			name = brief(g.schema.Classes[c].Name, 32)
		}
		colour[c] = len(named)
		named = append(named, name)
	}
	return colour, named
}

// at writes an instant in seconds since the first.
func (g *Writer) at(ns clock.TimelineTime) string { return seconds(clock.Sub(ns, g.first)) }

// seconds writes ns in seconds, exactly.
func seconds(ns int64) string {
	u, sign := uint64(ns), ""
	if ns < 0 {
		u, sign = -u, "-"
	}
	s := fmt.Sprintf("%s%d.%09d", sign, u/1e9, u%1e9)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// brief cuts a name that would not fit.
func brief(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// quoted makes a string of gnuplot. Within single quotes gnuplot replaces neither backquotes nor macros. A line's end
// would end it, so there are no controls. A quote would be written twice, but not everywhere: gnuplot 5.4 takes two at a
// string's beginning for an empty one. So it becomes a typographic one.
func quoted(s string) string {
	return "'" + strings.Map(func(r rune) rune {
		switch {
		case r == '\'':
			return '’'
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, s) + "'"
}
