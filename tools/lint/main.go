// Command lint checks Go code by the analyzers of staticcheck and of go vet.
//
//	lint [flags of staticcheck] PACKAGE...
//
// Both would type-check every package for themselves. One program does so once, and keeps what it found in the cache of staticcheck; go
// vet looks at every package anew each time. The exit code is 0 if nothing was found and 1 otherwise.
package main

import (
	"os"

	"golang.org/x/tools/go/analysis/suite/vet"
	"honnef.co/go/tools/lintcmd"
	"honnef.co/go/tools/lintcmd/version"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

func main() {
	c := lintcmd.NewCommand("lint")
	c.SetVersion(version.Version, version.MachineVersion)
	c.ParseFlags(os.Args[1:])
	c.AddAnalyzers(simple.Analyzers...)
	c.AddAnalyzers(staticcheck.Analyzers...)
	c.AddAnalyzers(stylecheck.Analyzers...)
	c.AddAnalyzers(unused.Analyzer)
	c.AddBareAnalyzers(vet.Suite...)
	c.Run()
}
