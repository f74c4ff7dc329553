//go:build !linux

package spill

import (
	"errors"
	"os"
)

const (
	supported = false
	pageSize  = int64(4096)
)

func makeRoom(*os.File, int64, int64) error { return errors.ErrUnsupported }

func allocate(*os.File, int64, int64) error { return errors.ErrUnsupported }

func mapFile(*os.File, int64, int64) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmapPages([]byte) {}

func unmap([]byte) {}

func discard([]byte) {}

type residency struct{}

func openResidency() (residency, error) { return residency{}, nil }

func (residency) bytes() int64 { return 0 }

func (residency) close() error { return nil }
