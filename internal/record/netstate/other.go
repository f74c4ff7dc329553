//go:build !linux

package netstate

import (
	"context"
	"errors"
)

var errLinux = errors.New("interfaces: their changes can be recorded on Linux only")

// Watcher is of no use on this system.
type Watcher struct{}

// Open says so.
func Open(Options) (*Watcher, error)                               { return nil, errLinux }
func (w *Watcher) Snapshot() []Interface                           { return nil }
func (w *Watcher) Lost() int64                                     { return 0 }
func (w *Watcher) Read(context.Context, func(*Change) error) error { return errLinux }
func (w *Watcher) Close() error                                    { return nil }

// Within calls f where there are no namespaces to enter.
func Within(name string, f func() error) error {
	if name != "" {
		return errLinux
	}
	return f()
}

// Inode says so.
func Inode(string) (uint32, error) { return 0, errLinux }
