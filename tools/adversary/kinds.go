package main

// kind is a family of worlds.
type kind struct {
	name string
	kept bool
	why  string // what breaks the assumption, of a kind that does not keep it
	make func(*builder)
}

// kinds are all families. A world's family follows from its seed, so families are only ever added at the end, and weights do not change
// the worlds of a seed with -kind.
var kinds = append(append([]kind{}, keptKinds...), wildKinds...)

func kindNamed(name string) *kind {
	for i := range kinds {
		if kinds[i].name == name {
			return &kinds[i]
		}
	}
	return nil
}
