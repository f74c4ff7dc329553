package gotrace_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	rtrace "runtime/trace"

	"meridian/format/gotrace"
	"meridian/trace"
)

// A program records itself with runtime/trace; its regions are slices on the rows of their goroutines.
func ExampleRead() {
	dir, err := os.MkdirTemp("", "gotrace")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "trace.out")
	if err := record(path); err != nil {
		log.Fatal(err)
	}

	var warnings trace.Warnings
	file, err := gotrace.Read(path, &warnings)
	if err != nil {
		log.Fatal(err)
	}
	events := file.Events()
	defer events.Close()
	for e := (trace.Event{}); events.Next(&e) == nil; {
		if name := events.Classes()[e.Class].Name; name == "compress" && e.Phase == trace.Begin {
			fmt.Println("the region", name, "begins")
		}
	}
	// Output: the region compress begins
}

func record(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := rtrace.Start(f); err != nil {
		return err
	}
	defer rtrace.Stop()
	rtrace.WithRegion(context.Background(), "compress", func() {})
	return nil
}
