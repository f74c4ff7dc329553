//go:build unix

// Package main kills writers and readers of sensor rings with SIGKILL at random instants, again and again, and holds what is
// read against what the writers say that they published. In go two numbers and a seed, out come figures, and an error
// where an event was lost, torn or read twice.
//
//	parent --starts--> writer: numbered events in two shards; after each Commit its number goes to a page that both map
//	       --kills---> at a random instant while it emits, and sometimes while it is being started
//	       --reads---> the ring, meanwhile and afterwards: 1, 2, 3 ... n, where n is the page's number or one more
//
//	parent --starts--> reader: packets to a file, then Commit
//	       --kills---> at a random instant; what the file has beyond the ring's place goes, and the next reader goes on
//
// Every third writer is a flight recorder (overwrite mode), whose last events are read after its death.
// A kill costs some ten milliseconds, nearly all of it the start of a process.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if role, ok := roles[os.Getenv(roleVariable)]; ok {
		role()
		return
	}
	kills := flag.Int("kills", 10000, "writers to kill while they emit")
	readers := flag.Int("readers", 1000, "readers to kill")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random instants")
	flag.Parse()
	if err := run(*kills, *readers, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "sensorkill:", err)
		os.Exit(1)
	}
}

func run(kills, readers int, seed uint64) error {
	fmt.Printf("seed %d\n", seed)
	began := time.Now()
	w, err := killWriters(kills, seed)
	if err != nil {
		return err
	}
	fmt.Printf("writers: %v; %v\n", w, time.Since(began).Round(time.Millisecond))
	began = time.Now()
	r, err := killReaders(readers, seed)
	if err != nil {
		return err
	}
	fmt.Printf("readers: %v; %v\n", r, time.Since(began).Round(time.Millisecond))
	return nil
}
