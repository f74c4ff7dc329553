package index_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"meridian/internal/load"
	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
)

// TestPiecesOfASearchAreAllThatThereIs compares with the events themselves.
func TestPiecesOfASearchAreAllThatThereIs(t *testing.T) {
	t.Parallel()
	o := load.Options{Events: 60_000, Hosts: 3, Messages: 5_000}
	schema := load.Schema(o)
	x := indextest.Build(t, schema, "", nil, func(b *index.Builder) error { return load.Write(o, schema, b) })
	defer x.Close()
	about := x.About()
	field := func(e *index.Event, name string) (int, bool) {
		for _, f := range e.Fields {
			if f[0] == name {
				n, err := strconv.Atoi(f[1])
				return n, err == nil
			}
		}
		return 0, false
	}
	anywhere := func(e *index.Event, digits string) bool {
		return slices.ContainsFunc(e.Fields, func(f [2]string) bool { return strings.Contains(f[1], digits) }) ||
			strings.Contains(about.Classes[e.Class].Name, digits)
	}
	var all []index.Event
	for len(all) < int(about.Events) {
		events, err := x.Events(int64(len(all)), 8192)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, events...)
	}
	for query, holds := range map[string]func(e *index.Event) bool{
		"request":  func(e *index.Event) bool { return about.Classes[e.Class].Name == "request" },
		"len>1462": func(e *index.Event) bool { n, ok := field(e, "len"); return ok && n > 1462 },
		`host=host1 "cache miss"`: func(e *index.Event) bool {
			return about.Rows[e.Row].Host == 1 && about.Classes[e.Class].Name == "cache miss"
		},
		"path:ITEM/47": func(e *index.Event) bool { return slices.Contains(e.Fields, [2]string{"path", "/api/v1/item/47"}) },
		"v1/item/4 id>4e9": func(e *index.Event) bool {
			n, ok := field(e, "id")
			return ok && n > 4e9 && strings.Contains(e.Fields[0][1], "v1/item/4")
		},
		"987":   func(e *index.Event) bool { return anywhere(e, "987") },
		"98 77": func(e *index.Event) bool { return anywhere(e, "98") && anywhere(e, "77") },
		"REQUEST 98 -77": func(e *index.Event) bool {
			return about.Classes[e.Class].Name == "request" && anywhere(e, "98") && !anywhere(e, "77")
		},
		"nowhere":        func(*index.Event) bool { return false },
		"path:nowhere":   func(*index.Event) bool { return false },
		"latency_ms>1e9": func(*index.Event) bool { return false },
		"-category:a -category:n | queue=3": func(e *index.Event) bool {
			n, ok := field(e, "queue")
			return about.Classes[e.Class].Category == "sched" || ok && n == 3
		},
	} {
		var want []int64
		for i := range all {
			if holds(&all[i]) {
				want = append(want, all[i].Event)
			}
		}
		for _, limit := range []int{1, 37, 10_000} {
			var got []int64
			for after := int64(-1); len(got) < 300 || limit > 1; {
				f, err := x.Search(query, after, limit)
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range f.Found {
					got = append(got, h.Event)
				}
				if after = f.Next; after < 0 {
					break
				}
			}
			want := want
			if limit == 1 {
				want = want[:min(len(want), len(got))]
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %d at once: %d found, %d are there", query, limit, len(got), len(want))
			}
		}
	}
}
