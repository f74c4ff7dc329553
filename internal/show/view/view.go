// Package view shows a timeline in a browser. The input is an index (package index). The output is a server for one
// user, or one HTML file that works from a disk.
//
//	                    .--> Listen, Serve   the page, and what it asks for: about, tiles, events, search, violations, plots
//	Data (an index) ----|
//	                    '--> WriteFile       the page with the answers that fit a budget
//
// The page under page/ is ES modules, joined into page_bundle.js by go generate. It draws tiles. A tile sums up an
// interval of the timeline in at most 1024 entries a lane, so neither the page nor the server ever has all events in
// memory. docs/viewer.md is the contract between index, server and page.
//
// Names, fields and titles in a trace are untrusted. They reach the page as JSON or in base64, never as markup; the page
// puts them into text nodes. The content security policy allows only the script of one digest, and requests only to the
// page's own server. guard.go restricts connections to the user who started the server.
//
// A served tile costs what the index takes to find it, some 0.1 ms, and its compression; a file some 50 ms a megabyte.
package view

import (
	"fmt"

	"meridian/internal/show"
	"meridian/internal/show/index"
)

// Data is what the page asks for; docs/viewer.md says what the answers mean. It is asked from several goroutines, and what
// it returns is not changed. A [Timeline] is one.
type Data interface {
	// About is what the page is told first.
	About() *index.About
	// Tile returns a tile as bytes; what lies beyond the timeline is an empty tile.
	Tile(group, level int, number int64) ([]byte, error)
	// Events returns at most count events from number from on.
	Events(from int64, count int) ([]index.Event, error)
	// Search looks for at most limit events behind number after; it gives up after a while, to be asked again. An error is
	// in the text.
	Search(text string, after int64, limit int) (*index.Found, error)
	// Violations returns the messages that break the rules, the worst of them in order of time.
	Violations() *index.Violations
	// Plots returns pictures of clocks and pairs over time.
	Plots() []show.Drawing
}

// key names a tile: number·2^(level+10) ns from the origin on, of one group of lanes.
type key struct {
	group, level int
	number       int64
}

func (k key) String() string { return fmt.Sprintf("%d.%d.%d", k.group, k.level, k.number) }

// child returns one of the two halves of a tile.
func (k key) child(half int64) key { return key{k.group, k.level - 1, 2*k.number + half} }
