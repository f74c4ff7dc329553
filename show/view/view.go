// Package view shows a timeline in a browser: in goes the index of one (package index), out comes a server for one person,
// or one HTML file that works from a disk.
//
//	                    .--> Listen, Serve   the page, and what it asks for: about, tiles, events, search, violations, plots
//	Data (an index) ----|
//	                    '--> WriteFile       the page with the answers that fit a budget
//
// The page under page/ is plain scripts, put together in one function (page.go); nothing is built. It draws tiles, each
// of which sums up what happened in a stretch in at most 1024 entries a lane, so that neither the page nor the server
// ever holds the events. docs/viewer.md is the contract between index, server and page.
//
// Names, fields and titles in a trace are what anybody may have written. They reach the page as JSON or in base64, never as
// markup; the page puts them into text nodes; and its policy lets nothing run but the code whose digest it names, and
// nothing be asked but of the server that it came from. Who may ask is in guard.go.
//
// A served tile costs what the index takes to find it, some 0.1 ms, and its compression; a file some 50 ms a megabyte.
package view

import "context"

// Data is what the page asks for; docs/viewer.md says what the answers mean. It is asked from several goroutines. Values
// are marshalled as JSON.
type Data interface {
	// About is what the page is told first.
	About() (any, error)
	// Tile returns a tile as bytes; what lies beyond the timeline is an empty tile.
	Tile(k Key) ([]byte, error)
	// Events returns at most count events from number from on.
	Events(from int64, count int) (any, error)
	// Search looks for a text in names and fields of the events behind number after, for at most limit of them and as long
	// as ctx lasts.
	Search(ctx context.Context, text string, after int64, limit int) (any, error)
	// Violations returns the worst of the messages that break the rules, at most so many, in order of time.
	Violations(most int) (any, error)
	// Plots returns pictures of clocks and pairs over time.
	Plots() (any, error)
}

// Key names a tile: Number·2^(Level+10) ns from the origin on, of one group of lanes.
type Key struct {
	Group, Level int
	Number       int64
}
