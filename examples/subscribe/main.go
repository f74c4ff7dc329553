// Subscribe is an example: a program that reads a live timeline out of shared memory.
//
//	meridian tail trace/ --ring /dev/shm/timeline --> ring --> this program
//	                                                       \-> subscribe, which is c/subscribe.c
//
//	go run ./examples/subscribe [-ring FILE] [-event NAME] [-count N]
//
// prints the events, and at the end how many it was too slow for. It ends with the writer or after N events.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"meridian/format/shm"
)

func main() {
	file := flag.String("ring", "/dev/shm/timeline", "the ring")
	event := flag.String("event", "", "print events of this name alone")
	count := flag.Int("count", 0, "end after so many; 0 is never")
	flag.Parse()
	if err := run(*file, *event, *count, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "subscribe:", err)
		os.Exit(1)
	}
}

// run prints events as they come.
func run(file, event string, count int, out io.Writer) error {
	r, err := shm.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; start 'meridian tail DIR --ring %s' first", err, file)
	}
	if err != nil {
		return err
	}
	defer r.Close()
	for printed := 0; count == 0 || printed < count; {
		ended := r.Ended() // before Next: nothing comes after it then
		var e shm.Event
		ok, err := r.Next(&e)
		if err != nil {
			return err
		}
		if !ok && ended {
			break
		}
		if !ok {
			time.Sleep(time.Millisecond)
			continue
		}
		if event != "" && string(e.Name) != event {
			continue
		}
		printed++
		at := time.Unix(0, int64(e.Time)).UTC().Format("15:04:05.000000000")
		if _, err := fmt.Fprintf(out, "%s %s %s %s %s\n", at, e.Host, e.Row, e.Name, e.Fields); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "%d events lost\n", r.Lost())
	return err
}
