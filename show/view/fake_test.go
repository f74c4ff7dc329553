package view

import (
	"context"
	"fmt"
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
	worst     []violation
}

func (d *fake) About() (any, error) {
	hosts := []map[string]string{}
	for i := range d.hosts {
		hosts = append(hosts, map[string]string{"name": fmt.Sprintf("%s%d", d.text, i)})
	}
	return map[string]any{
		"version": 1, "title": d.title, "origin": "0", "span": int64(1) << (d.top + 10), "top": d.top, "live": false, "hosts": hosts,
		"clocks": []int{}, "rows": []int{}, "classes": []map[string]string{{"name": d.text}}, "links": []int{}, "events": d.count, "left": []string{},
	}, nil
}

// Tile returns bytes that no compression makes much smaller.
func (d *fake) Tile(k Key) ([]byte, error) {
	tile := make([]byte, d.tileBytes)
	x := uint64(k.Group)<<40 ^ uint64(k.Level)<<32 ^ uint64(k.Number) + 1
	for i := range tile {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		tile[i] = byte(x)
	}
	tile[0] = 0
	if k.Level <= d.final {
		tile[0] = 1
	}
	return tile, nil
}

func (d *fake) Events(from int64, count int) (any, error) {
	list := []map[string]any{}
	for i := from; i < min(d.count, from+int64(count)); i++ {
		list = append(list, map[string]any{"event": i, "at": 10 * i, "fields": [][2]string{{d.text, d.text}}})
	}
	return list, nil
}

func (d *fake) Search(_ context.Context, text string, after int64, limit int) (any, error) {
	return map[string]any{"found": []string{fmt.Sprint(text, after, limit)}, "next": -1}, nil
}

func (d *fake) Violations(most int) (any, error) {
	return map[string]any{"counts": []int{0, 0, 0, 0, len(d.worst)}, "list": d.worst[:min(most, len(d.worst))]}, nil
}

func (d *fake) Plots() (any, error) {
	return []map[string]string{{"title": d.text, "svg": "<svg></svg>"}}, nil
}
