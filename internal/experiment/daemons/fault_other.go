//go:build !unix

package daemons

import "errors"

const (
	stopSignal = iota
	continueSignal
)

func signalGroup(int, int) error { return errors.ErrUnsupported }
