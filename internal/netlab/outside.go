//go:build unix

package netlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
)

// outside replaces the test that a lab expects: a failure or a skip ends the measurement. What a lab does not ask for is
// not there.
type outside struct {
	testing.TB
	dir     string
	ctx     context.Context
	cleanup []func()
	failed  []error
}

// Outside builds a lab ([New], [TwoHosts]) outside of any test, for benchmarks, runs a function with it and removes it. The
// commands of its hosts end with the function or with the context. Temporary files are made in dir. A lab that fails ends the
// function, and Outside returns the failure. The program must call [Helper] first.
func Outside(ctx context.Context, dir string, build func(testing.TB) *Lab, do func(*Lab) error) (err error) {
	testing.Init() // a lab asks for the flags of tests
	ctx, cancel := context.WithCancel(ctx)
	t := &outside{dir: dir, ctx: ctx}
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case stoppedOutside:
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
	return do(build(t))
}

// stoppedOutside is what a failed lab panics with.
type stoppedOutside struct{ error }

func (t *outside) Helper()                  {}
func (t *outside) Context() context.Context { return t.ctx }
func (t *outside) Cleanup(f func())         { t.cleanup = append(t.cleanup, f) }
func (t *outside) Fatal(args ...any)        { panic(stoppedOutside{errors.New(fmt.Sprint(args...))}) }
func (t *outside) Fatalf(format string, args ...any) {
	panic(stoppedOutside{fmt.Errorf(format, args...)})
}
func (t *outside) Skip(args ...any) { t.Fatal(args...) }
func (t *outside) Errorf(format string, args ...any) {
	t.failed = append(t.failed, fmt.Errorf(format, args...))
}

func (t *outside) TempDir() string {
	dir, err := os.MkdirTemp(t.dir, "lab")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
