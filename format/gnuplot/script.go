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

// script is the file while it is written.
type script struct {
	*bufio.Writer
	timeline *Writer
	rowOf    []int    // the drawn row of each stream
	plots    []string // what the plot command at the end draws
}

// script writes everything.
func (g *Writer) script() error {
	rows, of := g.drawnRows()
	s := &script{Writer: bufio.NewWriterSize(g.out, 64<<10), timeline: g, rowOf: of}
	s.settings(rows)
	s.slices()
	s.ticks()
	s.messages(false)
	s.messages(true)
	s.bounds()
	if len(s.plots) == 0 {
		s.plots = []string{"-100 notitle"} // nothing to see: a line beyond what is shown
	}
	fmt.Fprintf(s, "plot %s\n", strings.Join(s.plots, ", \\\n     "))
	return s.Flush()
}

// settings writes the title, the axes and the labels of rows.
func (s *script) settings(rows []drawnRow) {
	g := s.timeline
	if !g.live {
		fmt.Fprint(s, "# A timeline by meridian, for gnuplot 5 and later. Draw it in a window with\n#   gnuplot -p FILE\n# or take the # away in front of these lines:\n")
		fmt.Fprintf(s, "# set terminal pngcairo size 1600,%d\n# set output 'timeline.png'\n\n", 160+28*len(rows))
	}
	fmt.Fprint(s, "reset\nset encoding utf8\n")
	title, note := g.title()
	fmt.Fprintf(s, "set title %s.\"\\n\".%s noenhanced\n", quoted(title), quoted(note))
	fmt.Fprintf(s, "set xlabel %s noenhanced\n", quoted("time, s since "+time.Unix(0, int64(g.first)).UTC().Format("2006-01-02 15:04:05.999999999")+" UTC"))
	s.WriteString("set format x '%.9g'\nset grid x lc rgb '#e3e8ed' lt 1\nset border 1 lc rgb '#5d6975'\nset tics nomirror\nset ytics scale 0\n")
	fmt.Fprint(s, "set bmargin 6\nset key at screen 0.5,0.01 center bottom horizontal noenhanced samplen 2\nset style fill solid 0.85 noborder\n")
	fmt.Fprintf(s, "set xrange [0:%s]\nset yrange [%g:-1]\n", seconds(max(clock.Sub(g.last, g.first), 1)), float64(len(rows)))
	fmt.Fprint(s, "set ytics noenhanced ()\n")
	for i, r := range rows {
		// The label of a tic is a format.
		fmt.Fprintf(s, "set ytics add (%s %d)\n", quoted(strings.ReplaceAll(r.label, "%", "%%")), i)
		if i > 0 && r.host != rows[i-1].host {
			fmt.Fprintf(s, "set arrow from graph 0, first %g to graph 1, first %g nohead lc rgb '#5d6975' lw 0.6 back\n", float64(i)-0.5, float64(i)-0.5)
		}
	}
}

// block writes a data block and notes how it is plotted. A block without lines would be an error in gnuplot, so it is
// announced only with its first line.
func (s *script) block(name, style, title string, lines func(yield func(string))) {
	n := 0
	lines(func(line string) {
		if n++; n == 1 {
			fmt.Fprintf(s, "%s << EOD\n", name)
		}
		fmt.Fprintln(s, line)
	})
	if n > 0 {
		fmt.Fprint(s, "EOD\n")
		s.plots = append(s.plots, fmt.Sprintf("%s %s title %s noenhanced", name, style, quoted(title)))
	}
}

// slices writes a block of boxes for each class that has a colour, and one for the rest.
func (s *script) slices() {
	g := s.timeline
	colour, named := g.classes()
	for c := range len(named) + 1 {
		label, rgb := "other slices", grey
		if c < len(named) {
			label, rgb = named[c], colours[c]
		}
		style := fmt.Sprintf("using 1:2:3:4:5:6 with boxxyerror lc rgb '%s'", rgb)
		s.block("$slices"+strconv.Itoa(c), style, label, func(yield func(string)) {
			for i := range g.rows {
				for _, x := range g.rows[i].slices {
					if k, ok := colour[int(x.class)]; ok && k == c || !ok && c == len(named) {
						yield(s.box(x, float64(s.rowOf[i])))
					}
				}
			}
		})
	}
}

// box is a slice as gnuplot takes it: x y xlow xhigh ylow yhigh.
func (s *script) box(x slice, y float64) string {
	half := 0.36 * shrink(x.depth)
	if whole := int64(x.end - x.start); x.busy < whole { // made of several
		half *= max(0.1, float64(x.busy)/float64(whole))
	}
	start, end := s.timeline.at(max(x.start, s.timeline.first)), s.timeline.at(x.end)
	return fmt.Sprintf("%s %g %s %s %g %g", start, y, start, end, y-half, y+half)
}

func (s *script) ticks() {
	g := s.timeline
	s.block("$ticks", "using 1:2:3:4 with vectors nohead lc rgb '#17212b' lw 1", "instants", func(yield func(string)) {
		for i := range g.rows {
			for _, at := range g.rows[i].ticks {
				yield(fmt.Sprintf("%s %g 0 0.6", g.at(at), float64(s.rowOf[i])-0.3))
			}
		}
	})
}

// messages writes the arrows of messages, inverted ones in red and by themselves.
func (s *script) messages(inverted bool) {
	name, style, title := "$messages", "using 1:2:3:4 with vectors filled head size screen 0.006,20 lc rgb '#44505c' lw 1", "messages"
	if inverted {
		name, style, title = "$inversions", "using 1:2:3:4 with vectors filled head size screen 0.006,20 lc rgb '#cf1f2e' lw 1.6", "received before sent"
	}
	g := s.timeline
	s.block(name, style, title, func(yield func(string)) {
		for _, a := range g.arrows {
			if a.inverted() == inverted {
				yield(fmt.Sprintf("%s %d %s %d", g.at(a.from.at), s.rowOf[a.from.stream], seconds(clock.Sub(a.to.at, a.from.at)), s.rowOf[a.to.stream]-s.rowOf[a.from.stream]))
			}
		}
	})
}

func (s *script) bounds() {
	g := s.timeline
	s.block("$bounds", "using 1:2:3:4 with xerrorbars pt 7 ps 0.4 lc rgb '#b07400'", "bounds of messages' ends", func(yield func(string)) {
		for _, a := range g.arrows {
			for _, e := range []end{a.from, a.to} {
				if e.low != e.at || e.high != e.at {
					yield(fmt.Sprintf("%s %d %s %s", g.at(e.at), s.rowOf[e.stream], g.at(e.low), g.at(e.high)))
				}
			}
		}
	})
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
	if title = g.progress.Schema.Title; title == "" {
		title = "timeline"
	}
	title = brief(title, 100)
	if g.progress.Schema.Method != "" {
		title += ", clocks by " + brief(g.progress.Schema.Method, 60)
	}
	note = fmt.Sprintf("%d events, %d messages", g.progress.Events, g.messages)
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

// drawnRow is a row of the picture; the quietest streams of a host share one.
type drawnRow struct {
	label, host string
	kernel      bool
}

// drawnRows places the streams: host by host, the kernel's rows above, the quietest sharing one where there are too many.
func (g *Writer) drawnRows() (rows []drawnRow, of []int) {
	of = make([]int, len(g.rows))
	hosts := make(map[string]int)
	for i, h := range g.progress.Schema.Hosts {
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
		k := g.progress.Schema.Streams[i].Kind
		return k == trace.CPU || k == trace.Interrupt || k == trace.Device
	}
	own := make(map[int]bool)
	busiest := slices.Clone(used)
	slices.SortStableFunc(busiest, func(a, b int) int { return cmp.Compare(g.rows[b].count, g.rows[a].count) })
	for n, i := range busiest {
		own[i] = n < g.options.Rows
	}
	group := func(i int) int {
		if kernel(i) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(used, func(a, b int) int {
		sa, sb := &g.progress.Schema.Streams[a], &g.progress.Schema.Streams[b]
		shared := func(i int) int {
			if own[i] {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(hosts[sa.Host], hosts[sb.Host]), cmp.Compare(sa.Host, sb.Host), cmp.Compare(group(a), group(b)),
			cmp.Compare(shared(a), shared(b)), cmp.Compare(sa.Kind, sb.Kind), cmp.Compare(sa.ID, sb.ID))
	})
	for n, i := range used {
		s := &g.progress.Schema.Streams[i]
		l := drawnRow{label: brief(s.Host, 24) + "  " + brief(s.Name, 32), host: s.Host, kernel: kernel(i)}
		if !own[i] {
			l.label = brief(s.Host, 24) + "  other rows"
			if l.kernel {
				l.label = brief(s.Host, 24) + "  kernel, other rows"
			}
			if n > 0 && !own[used[n-1]] && rows[len(rows)-1] == l {
				of[i] = len(rows) - 1
				continue
			}
		}
		of[i] = len(rows)
		rows = append(rows, l)
	}
	return rows, of
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
		if c >= 0 && c < len(g.progress.Schema.Classes) {
			name = brief(g.progress.Schema.Classes[c].Name, 32)
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
