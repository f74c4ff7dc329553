// Package usage has the error for a mistake in what a command was asked to do. Commands exit with 2 for it and with 1
// for all other errors.
package usage

import "fmt"

// Error is a mistake in what was asked for, not in the data.
type Error struct{ Reason string }

func (e *Error) Error() string { return e.Reason }

// Errorf returns an [Error] with a formatted reason.
func Errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }
