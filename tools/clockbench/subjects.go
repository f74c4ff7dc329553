//go:build linux

package main

import (
	"context"
	"fmt"

	"meridian/internal/netlab"
)

// ownPort is the first of the ports on which ours answer.
const ownPort = 4600

// synchronisers returns all that are compared, not started.
func (b *bench) synchronisers(ctx context.Context, l *netlab.Lab) (all []*subject) {
	type polled struct {
		rate float64
		poll int // of chronyd: 2^poll seconds
	}
	rates := []polled{{16, -4}, {128, -7}}
	ours := []watched{{rate: 16}, {rate: 16, pair: true}, {rate: 128}, {rate: 10}}
	if b.warp {
		rates = nil
		ours = []watched{{rate: 16}, {rate: 16, warp: "wave"}, {rate: 16, warp: "jumps"}, {rate: 16, pair: true}, {rate: 16, pair: true, warp: "wave"},
			{rate: 16, pair: true, warp: "jumps"}, {rate: 16, warp: "steps"}, {rate: 16, pair: true, warp: "steps"}}
	}
	if b.low {
		rates = []polled{{0.25, 2}}
		ours = []watched{{rate: 0.2}, {rate: 0.2, burst: 8}}
	}
	for i, r := range rates {
		all = append(all, b.chronydAt(l, 1230+i, r.rate, r.poll))
	}
	if !b.low && !b.warp {
		all = append(all, b.ptp4lAt(ctx, l, 16, -4))
	}
	for i, w := range ours {
		w.port = ownPort + i
		all = append(all, b.ours(l, w))
	}
	return all
}

func (b *bench) chronydAt(l *netlab.Lab, port int, rate float64, poll int) *subject {
	var c *chronyd
	return &subject{
		name: fmt.Sprintf("chronyd %g/s", rate), rate: rate, peer: true, ports: []int{port},
		start: func() (err error) {
			if err = installed(b.chronyd); err == nil {
				c, err = b.startChronyd(l, port, poll)
			}
			return err
		},
		ask: func() ([]point, error) {
			ns, ok, err := c.offset()
			if err != nil || !ok {
				return nil, err
			}
			return []point{{offset: ns}}, nil
		},
		pids: func() []int { return c.pids() },
		stop: func() { c.stop() },
	}
}

func (b *bench) ptp4lAt(ctx context.Context, l *netlab.Lab, rate float64, interval int) *subject {
	var p *ptp4l
	return &subject{
		name: fmt.Sprintf("ptp4l %g/s", rate), rate: rate, peer: true, ports: []int{319, 320},
		start: func() (err error) {
			if err = installed(b.ptp4l); err == nil {
				p, err = b.startPTP4L(ctx, l, interval)
			}
			return err
		},
		ask: func() (points []point, _ error) {
			for _, ns := range p.offsets() {
				points = append(points, point{offset: ns})
			}
			return points, nil
		},
		pids: func() []int { return p.pids() },
		stop: func() { p.stop() },
	}
}
