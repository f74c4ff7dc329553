//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"text/tabwriter"
	"time"

	"meridian/internal/netlab"
)

// runHops measures a chain: each of so many hosts asks the one before it, and what a host at the end takes for the time of the first is the sum
// of the offsets between. The truth of every sum is 0.
func (b *bench) runHops(ctx context.Context, hosts int, w io.Writer) (err error) {
	if hosts < 2 || hosts > 60 {
		return fmt.Errorf("-hops %d is out of range: 2 to 60", hosts)
	}
	if b.dir, err = os.MkdirTemp("", "clockbench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	return netlab.Outside(ctx, b.dir, switched(hosts), func(l *netlab.Lab) error {
		var links []*subject
		defer func() {
			for _, s := range links {
				s.stop()
			}
		}()
		for k := 1; k < hosts; k++ {
			s := b.ours(l, watched{from: hostName(k), to: hostName(k - 1), address: hostAddress(k - 1), rate: 16, pair: true, port: ownPort})
			if err := s.start(); err != nil {
				return err
			}
			links = append(links, s)
		}
		said, err := b.askAll(ctx, links)
		if err != nil {
			return err
		}
		printHops(w, said)
		return nil
	})
}

// askAll asks all until the time is over. It returns what each said last before each instant after the settling.
func (b *bench) askAll(ctx context.Context, all []*subject) (said [][]point, err error) {
	last := make([]point, len(all))
	known := make([]bool, len(all))
	said = make([][]point, len(all))
	tick := time.NewTicker(askInterval)
	defer tick.Stop()
	for begin := time.Now(); time.Since(begin) < b.settle+b.length; {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		whole := time.Since(begin) >= b.settle
		for i, s := range all {
			points, err := s.ask()
			if err != nil {
				return nil, err
			}
			if n := len(points); n > 0 {
				last[i], known[i] = points[n-1], true
			}
			whole = whole && known[i]
		}
		for i := range all {
			if whole {
				said[i] = append(said[i], last[i])
			}
		}
	}
	if len(all) == 0 || len(said[0]) == 0 {
		return nil, errors.New("a host does not answer")
	}
	return said, nil
}

// printHops prints the error of the sums over the first hops, and how often a sum of bounds did not hold.
func printHops(w io.Writer, said [][]point) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "hops\tmedian ns\tp99 ns\tbound ns\twrong bounds")
	for hops := 1; hops <= len(said); hops++ {
		var failures, widths []float64
		wrong, bounded := 0, 0
		for at := range said[0] {
			var sum point
			sum.bounded = true
			for _, link := range said[:hops] {
				p := link[at]
				sum.offset += p.offset
				sum.low += p.low
				sum.high += p.high
				sum.bounded = sum.bounded && p.bounded
			}
			failures = append(failures, math.Abs(sum.offset))
			if sum.bounded {
				bounded++
				widths = append(widths, sum.high-sum.low)
				if sum.low > 0 || sum.high < 0 {
					wrong++
				}
			}
		}
		fmt.Fprintf(out, "%d\t%.0f\t%.0f\t%.0f\t%d of %d\n", hops, quantile(failures, 0.5), quantile(failures, 0.99), quantile(widths, 0.5), wrong, bounded)
	}
	_ = out.Flush()
}
