//go:build unix && !linux

package place

import "errors"

var errLinux = errors.New("needs Linux")

func canNamespaces() error { return errLinux }

func openNamespaces(Options) (*Place, error) { return nil, errLinux }
