package evaluate

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
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/output"
	"meridian/internal/pipeline/usage"
	"meridian/internal/show"
	"meridian/trace"
)

// maxPlots is how many pairs, and how many hosts, are drawn on one page.
const maxPlots = 64

// checkPlots refuses, before any work is done, what cannot become a directory.
func checkPlots(directory string) error {
	if info, err := os.Stat(directory); directory != "" && err == nil && !info.IsDir() {
		return usage.Errorf("--plots %s: not a directory", directory)
	}
	return nil
}

// plotter draws what a method says of the clocks.
type plotter struct {
	*pipeline.Matched
	truth    *quality.Truth // nil where it is not known
	estimate *estimate
	dir      string
	warnings *trace.Warnings
}

// plot writes the pictures and the page with all of them.
func (p *plotter) plot(ctx context.Context) error {
	page := show.PlotPage{Title: "Synchronisation of " + p.HostNames(), Note: "method " + p.estimate.method}
	if p.estimate.assumption != "" {
		page.Note += "; bounds hold if " + p.estimate.assumption
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
	for _, pair := range p.pairPlots() {
		if err := draw("pair-"+pair.A+"-"+pair.B, pair.WriteSVG); err != nil {
			return err
		}
	}
	for _, host := range p.hostPlots() {
		if err := draw("host-"+host.Name, host.WriteSVG); err != nil {
			return err
		}
	}
	if b := p.broadcastPlot(); b != nil {
		if err := draw("broadcasts", b.WriteSVG); err != nil {
			return err
		}
	}
	return writePlots(ctx, p.dir, &page)
}

// pairPlots prepares the pairs with the most messages, in the order of the clocks.
func (p *plotter) pairPlots() []*show.PairPlot {
	type blocks struct {
		of   [2][][]trace.Message // from the first clock of the pair, and back
		size int
	}
	at := make(map[[2]int]*blocks)
	var keys [][2]int
	for _, c := range p.Channels {
		if len(c.Messages) == 0 || c.From == c.To || p.estimate.component[c.From] != p.estimate.component[c.To] {
			continue
		}
		key := [2]int{min(c.From, c.To), max(c.From, c.To)}
		found := at[key]
		if found == nil {
			found = new(blocks)
			at[key] = found
			keys = append(keys, key)
		}
		way := 0
		if c.From != key[0] {
			way = 1
		}
		found.of[way] = append(found.of[way], c.Messages)
		found.size += len(c.Messages)
	}
	size := func(key [2]int) int { return at[key].size }
	byClocks := func(k, l [2]int) int { return cmp.Or(k[0]-l[0], k[1]-l[1]) }
	if len(keys) > maxPlots {
		slices.SortFunc(keys, func(k, l [2]int) int { return cmp.Or(size(l)-size(k), byClocks(k, l)) })
		p.warnings.Add(p.dir, fmt.Sprintf("only the %d pairs with the most messages are drawn, of %d", maxPlots, len(keys)), "")
		keys = keys[:maxPlots]
	}
	slices.SortFunc(keys, byClocks)
	var plots []*show.PairPlot
	for _, key := range keys {
		back := p.estimate.maps[key[1]].Inverse()
		between := clock.ComposeMaps(&p.estimate.maps[key[0]], &back)
		plots = append(plots, &show.PairPlot{
			A: p.Clocks[key[0]].Name, B: p.Clocks[key[1]].Name,
			AB: slices.Concat(at[key].of[0]...), BA: slices.Concat(at[key].of[1]...), Map: &between,
		})
	}
	return plots
}

// hostPlots prepares the clocks, with the truth on the timeline where it is known.
func (p *plotter) hostPlots() []*show.HostPlot {
	clocks, maps := p.Clocks, p.estimate.maps
	if len(clocks) > maxPlots {
		p.warnings.Add(p.dir, fmt.Sprintf("only the first %d hosts are drawn, of %d", maxPlots, len(clocks)), "")
		clocks = clocks[:maxPlots]
	}
	var plots []*show.HostPlot
	for i, c := range clocks {
		r := p.estimate.reference[i]
		h := &show.HostPlot{Name: c.Name, Reference: p.Clocks[r].Name, Map: &maps[i], First: c.First, Last: c.Last}
		if p.truth != nil && len(p.truth.Clocks[i]) > 0 && len(p.truth.Clocks[r]) > 0 {
			onReference := p.truth.Clocks[r].Inverse()
			h.Truth = clock.ComposeCurves(clock.ComposeCurves(p.truth.Clocks[i], onReference, clock.Nearest), maps[r].Mid, clock.Nearest)
		}
		plots = append(plots, h)
	}
	return plots
}

// broadcastPlot prepares the broadcasts, with their sign if there are but two receivers, as Poirier (2010, figure 3.6)
// draws them; nil without any.
func (p *plotter) broadcastPlot() *show.BroadcastPlot {
	broadcasts := divideBroadcasts(p.Broadcasts, p.estimate.component)
	receivers := make(map[int]bool)
	for _, b := range broadcasts {
		for _, r := range b.Receptions {
			receivers[r.Clock] = true
		}
	}
	plot := &show.BroadcastPlot{What: "the last reception less the first"}
	two := -1 // the later of two receivers
	if len(receivers) == 2 {
		first := len(p.Clocks)
		for n := range receivers {
			first, two = min(first, n), max(two, n)
		}
		plot.What = fmt.Sprintf("reception on %s less that on %s", p.Clocks[two].Name, p.Clocks[first].Name)
	}
	for i := range broadcasts {
		b := &broadcasts[i]
		at, delay, ok := quality.Apart(b, p.estimate.maps)
		if !ok {
			continue
		}
		if two >= 0 && p.estimate.maps[two].At(stampOf(b, two)) == at {
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
func stampOf(b *trace.Broadcast, number int) clock.HostTime {
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

// writePlots writes all files, which appear when all are whole.
func writePlots(ctx context.Context, directory string, page *show.PlotPage) error {
	if err := os.MkdirAll(directory, 0o777); err != nil {
		return err
	}
	var set output.Set
	defer set.Remove()
	for _, p := range page.Plots {
		err := set.Write(ctx, filepath.Join(directory, p.File), func(w io.Writer) error {
			_, err := w.Write(p.SVG)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := set.Write(ctx, filepath.Join(directory, "index.html"), page.Write); err != nil {
		return err
	}
	return set.Publish()
}
