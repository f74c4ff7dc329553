package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"meridian/internal/show/view"
)

// askGrowing asks for the list of requests each second, as the page does, while events come. It prints how long an answer takes, how many events it is
// behind, and what the list takes of a processor: the time of this process beside that of as long a stretch in which nobody asks.
func askGrowing(ctx context.Context, live *view.Live, length time.Duration) error {
	alone, err := processorOver(ctx, length, func() error { return nil })
	if err != nil {
		return err
	}
	var took []time.Duration
	var behind []int64
	count := 0
	asked, err := processorOver(ctx, length, func() error {
		begin := time.Now()
		list, err := live.Requests(view.RequestQuery{Sort: "total", Most: 1000})
		if err != nil {
			return err
		}
		took, behind, count = append(took, time.Since(begin)), append(behind, list.Behind), list.Count
		return nil
	})
	if err != nil {
		return err
	}
	if len(took) == 0 {
		return fmt.Errorf("no list was asked for within %v", length)
	}
	slices.Sort(took)
	slices.Sort(behind)
	n := len(took)
	fmt.Printf("%d lists of requests, the last of %d: answers median %v, p90 %v, worst %v; behind by events median %d, worst %d\n", n, count,
		took[n/2].Round(10*time.Microsecond), took[n*9/10].Round(10*time.Microsecond), took[n-1].Round(10*time.Microsecond), behind[n/2], behind[n-1])
	fmt.Printf("of a processor: %.1f %% while nobody asks, %.1f %% while the list is asked for each second\n", 100*alone, 100*asked)
	return nil
}

// processorOver does something each second and returns what part of a processor this process took meanwhile.
func processorOver(ctx context.Context, length time.Duration, do func() error) (float64, error) {
	begin, used := time.Now(), processorTime()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for time.Since(begin) < length {
		if err := do(); err != nil {
			return 0, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return float64(processorTime()-used) / float64(time.Since(begin)), nil
}
