package view

import (
	"fmt"

	"meridian/internal/show"
	"meridian/internal/show/index"
)

// fake is an index of which every answer is known: tiles are final from a level down.
type fake struct {
	title     string
	hosts     int
	top       int
	final     int // the first level from the top on which tiles are final
	tileBytes int
	count     int64
	text      string // in every name and field
	worst     []index.Violation
}

func (d *fake) About() *index.About {
	a := &index.About{Version: 1, Title: d.title, Span: 1 << (d.top + 10), Top: d.top, Events: d.count, Classes: []index.Class{{Name: d.text, Fields: []string{d.text}}}}
	for i := range d.hosts {
		a.Hosts = append(a.Hosts, index.Host{Name: fmt.Sprintf("%s%d", d.text, i)})
	}
	return a
}

// Tile returns bytes that no compression makes much smaller.
func (d *fake) Tile(group, level int, number int64) ([]byte, error) {
	tile := make([]byte, d.tileBytes)
	x := uint64(group)<<40 ^ uint64(level)<<32 ^ uint64(number) + 1
	for i := range tile {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		tile[i] = byte(x)
	}
	tile[0] = 0
	if level <= d.final {
		tile[0] = 1
	}
	return tile, nil
}

func (d *fake) Events(from int64, count int) ([]index.Event, error) {
	list := []index.Event{}
	for i := from; i < min(d.count, from+int64(count)); i++ {
		list = append(list, index.Event{Event: i, At: 10 * i, Fields: [][2]string{{d.text, d.text}}})
	}
	return list, nil
}

func (d *fake) Search(string, int64, int) (*index.Found, error) {
	return &index.Found{Found: []index.Hit{}, Next: -1}, nil
}

func (d *fake) Violations() *index.Violations {
	return &index.Violations{Counts: [5]int64{4: int64(len(d.worst))}, List: d.worst}
}

func (d *fake) Plots() []show.Drawing { return []show.Drawing{{Title: d.text, SVG: "<svg></svg>"}} }
