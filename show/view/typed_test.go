package view

import (
	"context"
	"encoding/json"

	"meridian/show"
	"meridian/show/index"
)

// Key names a tile for those who make data by hand.
type Key struct {
	Group, Level int
	Number       int64
}

// written by hand, answers are whatever JSON makes of them.
type byHand interface {
	About() (any, error)
	Tile(k Key) ([]byte, error)
	Events(from int64, count int) (any, error)
	Search(ctx context.Context, text string, after int64, limit int) (any, error)
	Violations(most int) (any, error)
	Plots() (any, error)
}

// typed makes data of what was made by hand.
type typed struct{ byHand }

func read[T any](v any, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, json.Unmarshal(text, out)
}

func must[T any](v *T, err error) *T {
	if err != nil {
		panic(err) // a test's own data
	}
	return v
}

func (t typed) About() *index.About { return must(read[index.About](t.byHand.About())) }
func (t typed) Tile(group, level int, number int64) ([]byte, error) {
	return t.byHand.Tile(Key{group, level, number})
}
func (t typed) Events(from int64, count int) ([]index.Event, error) {
	return *must(read[[]index.Event](t.byHand.Events(from, count))), nil
}
func (t typed) Search(text string, after int64, limit int) (*index.Found, error) {
	return read[index.Found](t.byHand.Search(context.Background(), text, after, limit))
}
func (t typed) Violations() *index.Violations {
	return must(read[index.Violations](t.byHand.Violations(10_000)))
}
func (t typed) Plots() []show.Drawing { return *must(read[[]show.Drawing](t.byHand.Plots())) }
