package main_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"meridian/internal/s3"
	"meridian/internal/s3/s3test"
)

// The words of scripts for object stores:
//
//	objects PREFIX NAME...    put files and directories into the bucket "bucket" of a store, below a prefix, and set $AWS_ENDPOINT_URL
//	requests LEAST MOST       wait until LEAST requests were made since the last time; they are not more than MOST
//	archived PREFIX N         wait until the indexes below a prefix have N files, all that are not empty

// store is that of a script. It ends with the script.
type store struct {
	*s3test.Server
	seen int // requests
}

func storeOf(ts *testscript.TestScript) *store {
	b := benchOf(ts)
	if b.store == nil {
		b.store = &store{Server: s3test.Start("bucket")}
		ts.Defer(b.store.Close)
		for _, v := range b.store.Environment() {
			name, value, _ := strings.Cut(v, "=")
			ts.Setenv(name, value)
		}
	}
	return b.store
}

func objects(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, 99)
	s := storeOf(ts)
	for _, name := range args[1:] {
		info, err := os.Stat(ts.MkAbs(name))
		ts.Check(err)
		if info.IsDir() {
			ts.Check(s.PutDir(ts.MkAbs(name), "bucket", args[0]+"/"+name+"/"))
		} else {
			s.Put("bucket", args[0]+"/"+name, []byte(ts.ReadFile(name)))
		}
	}
}

func requests(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, 2)
	s := storeOf(ts)
	least, err := strconv.Atoi(args[0])
	ts.Check(err)
	most, err := strconv.Atoi(args[1])
	ts.Check(err)
	made := s.Requests()[s.seen:]
	for end := time.Now().Add(60 * time.Second); len(made) < least && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		made = s.Requests()[s.seen:]
	}
	s.seen += len(made)
	if len(made) < least || len(made) > most {
		ts.Fatalf("%d requests, not from %d to %d: %q", len(made), least, most, made)
	}
}

func archived(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, 2)
	var want int64
	files, err := filepath.Glob(ts.MkAbs(args[1]) + "/*/[^.]*")
	ts.Check(err)
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			want += info.Size()
		}
	}
	s := storeOf(ts)
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var got int64
		for key, data := range s.Objects("bucket") {
			if strings.HasPrefix(key, args[0]+"/") && strings.HasSuffix(key, "/index.json") {
				x, err := s3.ParseIndex(data)
				ts.Check(err)
				for _, h := range x.Hosts {
					for _, f := range h.Files {
						got += f.Size()
					}
				}
			}
		}
		if got == want && got > 0 {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%d bytes are archived, not %d", got, want)
		}
	}
}
