//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"meridian/internal/netlab"
)

// lab replaces the test that netlab expects: a failure or a skip ends the measurement. What a laboratory does not ask
// for is not there.
type lab struct {
	testing.TB
	dir     string
	ctx     context.Context
	cleanup []func()
	failed  []error
}

// inLab runs a function with two linked hosts, web and db, and removes them.
func inLab(dir string, do func(*netlab.Lab) error) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	t := &lab{dir: dir, ctx: ctx}
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case labStopped:
			err = failed.error
		default:
			defer panic(failed) // with all cleaned up
		}
		cancel() // commands end before their namespaces are removed
		for i := len(t.cleanup) - 1; i >= 0; i-- {
			t.cleanup[i]()
		}
		err = errors.Join(append([]error{err}, t.failed...)...)
	}()
	return do(netlab.TwoHosts(t))
}

// labStopped is what a failed laboratory panics with.
type labStopped struct{ error }

func (t *lab) Helper()                           {}
func (t *lab) Context() context.Context          { return t.ctx }
func (t *lab) Cleanup(f func())                  { t.cleanup = append(t.cleanup, f) }
func (t *lab) Fatal(args ...any)                 { panic(labStopped{errors.New(fmt.Sprint(args...))}) }
func (t *lab) Fatalf(format string, args ...any) { panic(labStopped{fmt.Errorf(format, args...)}) }
func (t *lab) Skip(args ...any)                  { t.Fatal(args...) }
func (t *lab) Errorf(format string, args ...any) {
	t.failed = append(t.failed, fmt.Errorf(format, args...))
}

func (t *lab) TempDir() string {
	dir, err := os.MkdirTemp(t.dir, "lab")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
