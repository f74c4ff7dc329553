package synchroniser

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"meridian/internal/probe"
)

// collector reads states when it is asked, so that nothing is computed between two scrapes.
type collector struct {
	s *Synchroniser
	description
}

// description is what the metrics are.
type description struct {
	offset, low, high, skew, least, rtt, exchanges, steps, set, bounded, silent *prometheus.Desc
}

func newCollector(s *Synchroniser) *collector {
	d := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("meridian_clock_"+name, help, []string{"host"}, nil)
	}
	return &collector{s, description{
		offset:    d("offset_seconds", "Estimated offset of the host's system clock: theirs less ours."),
		low:       d("offset_low_seconds", "Strict lower bound of the offset; absent where it is unbounded."),
		high:      d("offset_high_seconds", "Strict upper bound of the offset; absent where it is unbounded."),
		skew:      d("skew_ratio", "By how much more the host's free clock advances than ours, less 1."),
		least:     d("least_round_trip_seconds", "Least round trip so far."),
		rtt:       d("round_trip_seconds", "Newest round trip."),
		exchanges: d("exchanges_total", "Exchanges that were answered."),
		steps:     d("steps_total", "Contradictions of the free clocks, each of which began a new piece."),
		set:       d("set_total", "How often the host's system clock was set, or steered by more than is assumed."),
		bounded:   d("bounded", "1 where the offset has a strict bound and the host answers."),
		silent:    d("silent", "1 where the host does not answer."),
	}}
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements [prometheus.Collector].
func (c *collector) Collect(to chan<- prometheus.Metric) {
	for i := range c.s.Hosts() {
		s := c.s.At(i)
		put := func(d *prometheus.Desc, kind prometheus.ValueType, v float64) {
			to <- prometheus.MustNewConstMetric(d, kind, v, s.Name)
		}
		put(c.exchanges, prometheus.CounterValue, float64(s.Exchanges))
		put(c.steps, prometheus.CounterValue, float64(s.Steps))
		put(c.set, prometheus.CounterValue, float64(s.Set))
		put(c.silent, prometheus.GaugeValue, truth(s.Silent || s.Answered == 0))
		put(c.bounded, prometheus.GaugeValue, truth(s.Bounded()))
		if s.Exchanges > 0 {
			put(c.least, prometheus.GaugeValue, seconds(s.LeastRTT))
			put(c.rtt, prometheus.GaugeValue, seconds(s.RTT))
		}
		if s.Estimated {
			put(c.offset, prometheus.GaugeValue, seconds(s.System.Offset))
			put(c.skew, prometheus.GaugeValue, s.Skew)
		}
		if s.System.Bounded {
			put(c.low, prometheus.GaugeValue, seconds(s.System.Low))
			put(c.high, prometheus.GaugeValue, seconds(s.System.High))
		}
	}
}

func truth(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// counted are the datagrams of one end.
func counted(stats func() probe.Stats) []prometheus.Collector {
	counter := func(name, help string, labels prometheus.Labels, of func(probe.Stats) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "meridian", Subsystem: "clock", Name: name, Help: help, ConstLabels: labels},
			func() float64 { return float64(of(stats())) })
	}
	all := []prometheus.Collector{
		counter("packets_sent_total", "Datagrams sent.", nil, func(s probe.Stats) uint64 { return s.Sent }),
		counter("packets_received_total", "Datagrams received.", nil, func(s probe.Stats) uint64 { return s.Received }),
		counter("questions_lost_total", "Questions without an answer.", nil, func(s probe.Stats) uint64 { return s.Lost }),
	}
	for _, cause := range probe.Causes() {
		all = append(all, counter("packets_dropped_total", "Datagrams that were dropped, by cause.", prometheus.Labels{"cause": cause.String()},
			func(s probe.Stats) uint64 { return s.Dropped[cause] }))
	}
	return all
}

// Metrics is an HTTP server of metrics for Prometheus at /metrics.
type Metrics struct {
	listener net.Listener
	server   *http.Server
}

// metricsTimeout bounds how long a client may take for its request.
const metricsTimeout = 10 * time.Second

// NewMetrics listens at an address. The metrics are the counts of datagrams and, if s is not nil, what is known of its hosts.
func NewMetrics(ctx context.Context, address string, stats func() probe.Stats, s *Synchroniser) (*Metrics, error) {
	registry := prometheus.NewRegistry()
	all := append(counted(stats), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s != nil {
		all = append(all, newCollector(s))
	}
	for _, c := range all {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return &Metrics{l, &http.Server{Handler: mux, ReadHeaderTimeout: metricsTimeout, ReadTimeout: metricsTimeout, WriteTimeout: metricsTimeout}}, nil
}

// Addr returns where it listens.
func (m *Metrics) Addr() string { return m.listener.Addr().String() }

// Serve answers until the context is done.
func (m *Metrics) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = m.server.Close() })
	defer stop()
	if err := m.server.Serve(m.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}
