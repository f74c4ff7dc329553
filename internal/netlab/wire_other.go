//go:build unix && !linux

package netlab

import (
	"errors"
	"io"
)

func disturb(io.Reader, io.Writer) error { return errors.New("a disturbed wire needs Linux") }
