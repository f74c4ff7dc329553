//go:build !linux

package probe

import "errors"

// OpenPHC fails: hardware stamps need Linux.
func OpenPHC(string) (PHC, error) { return nil, errors.New("probe: hardware stamps need Linux") }

func (s *udp) bind(string) error { return errors.New("probe: hardware stamps need Linux") }
