package align

import (
	"fmt"

	"meridian/align/network"
	"meridian/align/pair"
	"meridian/align/sampled"
	"meridian/clock"
	"meridian/trace"
)

// separate returns a tree in which every clock is its own reference.
func separate(clocks int) *network.Tree {
	t := &network.Tree{
		Component: make([]int, clocks), Parent: make([]int, clocks),
		Maps: make([]clock.Map, clocks), Distance: make([]float64, clocks),
	}
	for i := range clocks {
		t.Component[i], t.Parent[i], t.Maps[i] = i, i, clock.Identity()
		t.References = append(t.References, i)
	}
	return t
}

// numberComponents numbers the components from 0 in the order of their first clocks, after parents were set.
func numberComponents(t *network.Tree) {
	t.References = nil
	known := make(map[int]int)
	for i := range t.Parent {
		root := i
		for t.Parent[root] != root {
			root = t.Parent[root]
		}
		n, again := known[root]
		if !again {
			n = len(t.References)
			known[root] = n
			t.References = append(t.References, root)
		}
		t.Component[i] = n
	}
}

// byBroadcasts places all clocks by the broadcasts that they received.
func byBroadcasts(p *trace.Problem, chosen int, _ *Options) (*network.Tree, error) {
	if len(p.Broadcasts) == 0 {
		return nil, fmt.Errorf("the method broadcast needs broadcasts: @broadcast lines in a list of messages, or traces of a medium that several hosts hear")
	}
	groups, err := pair.Broadcasts(len(p.Clocks), p.Broadcasts)
	if err != nil {
		return nil, err
	}
	t := separate(len(p.Clocks))
	for _, g := range groups {
		reference, back := g.Reference, clock.PairIdentity()
		for k, c := range g.Clocks {
			if c == chosen {
				reference, back = c, g.Maps[k].Inverse()
			}
		}
		for k, c := range g.Clocks {
			t.Parent[c] = reference
			if c != reference {
				m := clock.ComposeMaps(&g.Maps[k], &back)
				t.Maps[c] = onTimeline(&m)
			}
		}
	}
	numberComponents(t)
	return t, nil
}

// bySamples places every clock on the reference that its samples were taken against.
func bySamples(p *trace.Problem, _ int, o *Options) (*network.Tree, error) {
	if len(p.Samples) == 0 {
		return nil, fmt.Errorf("the method sampled needs samples of a reference clock")
	}
	of := make([][]trace.Sample, len(p.Clocks))
	for _, x := range p.Samples {
		if x.Clock == x.Against {
			return nil, fmt.Errorf("%s is sampled against itself", p.Clocks[x.Clock].Name)
		}
		of[x.Clock] = append(of[x.Clock], x)
	}
	t := separate(len(p.Clocks))
	for c, samples := range of {
		if len(samples) == 0 {
			continue
		}
		against := samples[0].Against
		if len(of[against]) > 0 {
			return nil, fmt.Errorf("%s is sampled against %s, which has samples itself and so is not a reference", p.Clocks[c].Name, p.Clocks[against].Name)
		}
		m, err := sampled.Map(samples, o.Samples)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Clocks[c].Name, err)
		}
		t.Parent[c], t.Maps[c] = against, onTimeline(&m)
	}
	numberComponents(t)
	return t, nil
}

// onTimeline returns a map to the clock of a component's reference, which is the component's timeline.
func onTimeline(m *clock.PairMap) clock.Map {
	return clock.ConvertMap[clock.HostTime, clock.TimelineTime](m)
}
