package main

import "slices"

// kind is a family of worlds.
type kind struct {
	name string
	kept bool
	why  string // what breaks the assumption, of a kind that does not keep it
	make func(*builder)
}

// kinds are all families. Seeds take them in turn.
var kinds = slices.Concat(keptKinds, wildKinds, oddKinds)

func kindNamed(name string) *kind {
	for i := range kinds {
		if kinds[i].name == name {
			return &kinds[i]
		}
	}
	return nil
}
