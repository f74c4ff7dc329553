package main

import (
	"flag"
	"runtime"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// processes are what a copy of this test binary is when it is started under another name: testscript puts a copy of each
// name in front of PATH. Tests that need processes of their own add theirs before TestMain, in an init function.
var processes = map[string]func(){"meridian": main}

// helpers look, before anything else, whether this process was started by a test to be something other than the tests. A
// helper that is concerned does its work and exits.
var helpers []func()

func TestMain(m *testing.M) {
	for _, help := range helpers {
		help()
	}
	// Tests of programs wait more than they compute. Without this as many run at once as there are processors.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err) // the flag is testing's
	}
	testscript.Main(m, processes)
}
