package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"meridian/align/quality"
	"meridian/clock"
	"meridian/internal/show"
	"meridian/trace"
)

// mostPlots is how many pairs, and how many hosts, are drawn: nobody looks at more in one page.
const mostPlots = 64

// checkPlots refuses, before any work is done, what cannot become a directory.
func checkPlots(directory string) error {
	if info, err := os.Stat(directory); directory != "" && err == nil && !info.IsDir() {
		return usage("--plots %s: it is a file, not a directory", directory)
	}
	return nil
}

// plot draws what a method says and writes the pictures and the page with all of them.
func (e *evaluator) plot(ctx context.Context, x *estimate) error {
	page := show.PlotPage{Title: "Synchronisation of " + e.hostNames(), Note: "method " + x.method}
	if x.assumption != "" {
		page.Note += "; bounds hold if " + x.assumption
	}
	names := make(map[string]bool)
	draw := func(name string, write func(io.Writer) error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var svg bytes.Buffer
		if err := write(&svg); err != nil {
			return err
		}
		page.Plots = append(page.Plots, show.Plot{File: fileName(name, names) + ".svg", SVG: svg.Bytes()})
		return nil
	}
	for _, p := range e.pairPlots(x) {
		if err := draw("pair-"+p.A+"-"+p.B, p.WriteSVG); err != nil {
			return err
		}
	}
	for _, h := range e.hostPlots(x) {
		if err := draw("host-"+h.Name, h.WriteSVG); err != nil {
			return err
		}
	}
	if b := e.broadcastPlot(x); b != nil {
		if err := draw("broadcasts", b.WriteSVG); err != nil {
			return err
		}
	}
	return writePlots(e.options.Plots, &page)
}

// pairPlots prepares the pairs with the most messages, in the order of the clocks.
func (e *evaluator) pairPlots(x *estimate) []*show.PairPlot {
	p := &e.matched.Problem
	at := make(map[[2]int]*show.PairPlot)
	var keys [][2]int
	for _, c := range p.Channels {
		if len(c.Messages) == 0 || c.From == c.To || x.component[c.From] != x.component[c.To] {
			continue
		}
		key := [2]int{min(c.From, c.To), max(c.From, c.To)}
		plot := at[key]
		if plot == nil {
			plot = &show.PairPlot{A: p.Clocks[key[0]].Name, B: p.Clocks[key[1]].Name}
			at[key] = plot
			keys = append(keys, key)
		}
		into := &plot.AB
		if c.From != key[0] {
			into = &plot.BA
		}
		*into = append((*into)[:len(*into):len(*into)], c.Messages...)
	}
	size := func(key [2]int) int { return len(at[key].AB) + len(at[key].BA) }
	byClocks := func(k, l [2]int) int { return cmp.Or(k[0]-l[0], k[1]-l[1]) }
	if len(keys) > mostPlots {
		slices.SortFunc(keys, func(k, l [2]int) int { return cmp.Or(size(l)-size(k), byClocks(k, l)) })
		e.warnings.Add(e.options.Plots, fmt.Sprintf("only the %d pairs with the most messages are drawn, of %d", mostPlots, len(keys)), "")
		keys = keys[:mostPlots]
	}
	slices.SortFunc(keys, byClocks)
	var plots []*show.PairPlot
	for _, key := range keys {
		back := x.maps[key[1]].Inverse()
		between := clock.ComposeMaps(&x.maps[key[0]], &back)
		at[key].Map = &between
		plots = append(plots, at[key])
	}
	return plots
}

// hostPlots prepares the clocks, with the truth on the timeline where it is known.
func (e *evaluator) hostPlots(x *estimate) []*show.HostPlot {
	clocks := e.matched.Clocks
	if len(clocks) > mostPlots {
		e.warnings.Add(e.options.Plots, fmt.Sprintf("only the first %d hosts are drawn, of %d", mostPlots, len(clocks)), "")
		clocks = clocks[:mostPlots]
	}
	var plots []*show.HostPlot
	for i, c := range clocks {
		r := x.reference[i]
		h := &show.HostPlot{Name: c.Name, Reference: e.matched.Clocks[r].Name, Map: &x.maps[i], First: c.First, Last: c.Last}
		if e.truth != nil && len(e.truth.Clocks[i]) > 0 && len(e.truth.Clocks[r]) > 0 {
			onReference := e.truth.Clocks[r].Inverse()
			h.Truth = clock.ComposeCurves(clock.ComposeCurves(e.truth.Clocks[i], onReference, clock.Nearest), x.maps[r].Mid, clock.Nearest)
		}
		plots = append(plots, h)
	}
	return plots
}

// broadcastPlot prepares the broadcasts, with their sign if there are but two receivers, as Poirier (2010, figure 3.6)
// draws them; nil without any.
func (e *evaluator) broadcastPlot(x *estimate) *show.BroadcastPlot {
	broadcasts := oneTimeline(e.matched.Problem.Broadcasts, x.component)
	receivers := make(map[int]bool)
	for _, b := range broadcasts {
		for _, r := range b.Receptions {
			receivers[r.Clock] = true
		}
	}
	plot := &show.BroadcastPlot{What: "the last reception less the first"}
	two := -1 // the later of two receivers
	if len(receivers) == 2 {
		first := len(e.matched.Clocks)
		for n := range receivers {
			first, two = min(first, n), max(two, n)
		}
		plot.What = fmt.Sprintf("reception on %s less that on %s", e.matched.Clocks[two].Name, e.matched.Clocks[first].Name)
	}
	for i := range broadcasts {
		b := &broadcasts[i]
		at, delay, ok := quality.Apart(b, x.maps)
		if !ok {
			continue
		}
		if two >= 0 && x.maps[two].At(stampOf(b, two)) == at {
			delay = -delay
		}
		plot.At, plot.Delay = append(plot.At, at), append(plot.Delay, delay)
	}
	if len(plot.At) == 0 {
		return nil
	}
	return plot
}

// stampOf returns a clock's first stamp of a broadcast.
func stampOf(b *trace.Broadcast, number int) int64 {
	for _, r := range b.Receptions {
		if r.Clock == number {
			return r.Time
		}
	}
	return 0
}

// fileName makes a file's name of hosts' names, which may hold anything, and none twice.
func fileName(name string, taken map[string]bool) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, name)
	safe = safe[:min(len(safe), 120)]
	unique := safe
	for n := 2; taken[strings.ToLower(unique)]; n++ {
		unique = safe + "-" + strconv.Itoa(n)
	}
	taken[strings.ToLower(unique)] = true // on some systems case does not tell files apart
	return unique
}

// writePlots writes all files beside their places and moves them there when all are whole.
func writePlots(directory string, page *show.PlotPage) (err error) {
	if err := os.MkdirAll(directory, 0o777); err != nil {
		return err
	}
	type file struct{ temporary, path string }
	var files []file
	defer func() {
		for _, f := range files {
			os.Remove(f.temporary)
		}
	}()
	add := func(name string, write func(io.Writer) error) error {
		out, err := os.CreateTemp(directory, ".plot.*")
		if err != nil {
			return err
		}
		files = append(files, file{out.Name(), filepath.Join(directory, name)})
		err = write(out)
		if chmod := out.Chmod(0o666 &^ umask()); err == nil {
			err = chmod
		}
		if closing := out.Close(); err == nil {
			err = closing
		}
		return err
	}
	for _, p := range page.Plots {
		err := add(p.File, func(w io.Writer) error {
			_, err := w.Write(p.SVG)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := add("index.html", page.Write); err != nil {
		return err
	}
	for i := range files {
		if err := os.Rename(files[i].temporary, files[i].path); err != nil {
			return err
		}
	}
	files = nil
	return nil
}
