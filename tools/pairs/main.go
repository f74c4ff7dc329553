// Command pairs tries to make matching pair two packets that are not one.
//
//	pairs [-messages 1000000] [-adverse] [-from 1] [-j N] [-v]
//
// It makes pairs of captures of which every packet's way is known, reduces the frames with format/pcap, matches them with
// match, and compares:
//
//	seed --> world --> frames of two captures --> format/pcap --> match --> messages | truth
//
// A world has TCP connections, datagrams of all habits and ICMP between two hosts, a network that loses, repeats and
// reorders, and captures that lose up to a tenth of the frames, cut them to 96 bytes, or hold every frame twice. Nothing of
// meridian's is used to make it.
//
// With -adverse the worlds are made to deceive: clocks that run apart and are set, captures that miss all of some milliseconds,
// delays with a heavy tail, repeats at any distance, keepalives, probes of closed windows, requests without options, sequence
// numbers that begin anew. Of these no share is asked.
//
// A message is false if what the receiver saw is not what the sender saw: another sending of the same bytes counts as
// false too. It is wrong if moreover the packet received left before the instant that the message says, which can void a
// bound. The share is that of messages among the packets that were seen at both ends. Worlds that repeat what nothing
// tells apart are listed on their own, since most of that must be dropped.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
)

func main() {
	messages := flag.Int64("messages", 1_000_000, "messages to be found in all")
	from := flag.Uint64("from", 1, "first seed")
	jobs := flag.Int("j", runtime.GOMAXPROCS(0), "worlds at once")
	hostile := flag.Bool("adverse", false, "worlds that are made to deceive; of the shares none is asked")
	verbose := flag.Bool("v", false, "print every world")
	flag.Parse()
	if flag.NArg() > 0 || *messages < 1 {
		flag.Usage()
		os.Exit(2)
	}
	all, err := run(*from, *messages, *jobs, *hostile, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pairs:", err)
		os.Exit(1)
	}
	fmt.Print(all)
	if f := all.fault(*hostile); f != "" {
		fmt.Fprintln(os.Stderr, "pairs:", f)
		os.Exit(1)
	}
}

// run judges worlds from a seed on until so many messages were found.
func run(from uint64, messages int64, jobs int, hostile, verbose bool) (*score, error) {
	all := newScore()
	var mu sync.Mutex
	var failed error
	var wait sync.WaitGroup
	next := from
	for range jobs {
		wait.Go(func() {
			for {
				mu.Lock()
				if failed != nil || all.found() >= messages {
					mu.Unlock()
					return
				}
				seed := next
				next++
				mu.Unlock()
				one, err := judge(newWorld(seed, hostile))
				mu.Lock()
				if err != nil {
					failed = fmt.Errorf("seed %d: %w", seed, err)
				} else {
					if verbose || one.wrong() > 0 {
						fmt.Printf("seed %d: %s\n%s", seed, one.about, one)
					}
					all.add(one)
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return all, failed
}
