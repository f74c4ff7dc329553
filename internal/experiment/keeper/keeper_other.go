//go:build !linux

package keeper

import "errors"

var errLinux = errors.New("hosts of an experiment need Linux: its subreapers leave no process behind")

// Run fails: only Linux has subreapers.
func Run(string, []string) (int, error) { return 1, errLinux }

// Adopt fails: only Linux has subreapers.
func Adopt() error { return errLinux }

// KillDescendants does nothing: Adopt has failed before.
func KillDescendants(...int) {}
