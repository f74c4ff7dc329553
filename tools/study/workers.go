package main

import (
	"sync"
	"sync/atomic"
)

// each calls do for 0 to n-1, some at a time, and returns the error of the least i that had one. What do finds out
// belongs into the i-th place of a slice, so that the order in which they end changes nothing.
func (s *study) each(n int, do func(i int) error) error {
	var next atomic.Int64
	errs := make([]error, n)
	var all sync.WaitGroup
	for range s.workers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = do(i)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
