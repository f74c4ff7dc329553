//go:build race

package main_test

import "flag"

// Under the race detector, which slows everything some ten times, random worlds are for its sake and not for the bounds':
// the ordinary run draws as many as ever.
func init() {
	if err := flag.Set("rapid.checks", "12"); err != nil {
		panic(err)
	}
}
