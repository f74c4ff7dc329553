package publish

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"meridian/internal/collect/wire"
)

// Agent is what an agent says of its trace, bytes.
type Agent struct {
	Host, Session                string
	Recorded, Acknowledged, Lost int64
	Probing                      *wire.Probing // nil: none
}

// collector reads states when it is asked: nothing is computed between two scrapes.
type collector struct {
	p      *Publisher
	agents func() []Agent

	recorded, acknowledged, lostBytes            *prometheus.Desc
	width, roundTrip, silent                     *prometheus.Desc
	events, late, forced, lost, lag, bound       *prometheus.Desc
	streams, missed, spans, spansLost, spansWait *prometheus.Desc
}

func (p *Publisher) metrics(agents func() []Agent) http.Handler {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("meridian_"+name, help, labels, nil)
	}
	c := &collector{
		p: p, agents: agents,
		recorded:     d("agent_recorded_bytes", "Bytes of the trace on its host.", "session", "host"),
		acknowledged: d("agent_acknowledged_bytes", "Of these, on the disks of as many servers as are wanted.", "session", "host"),
		lostBytes:    d("agent_lost_bytes", "Of these, removed on the host before they were sent.", "session", "host"),
		width:        d("probe_bound_width_seconds", "Width of the strict bound of the clock's offset to a peer, by clock probes; absent where there is none.", "session", "host", "peer"),
		roundTrip:    d("probe_least_round_trip_seconds", "Least round trip of clock probes with a peer.", "session", "host", "peer"),
		silent:       d("probe_silent", "1 where a peer does not answer clock probes, else 0.", "session", "host", "peer"),
		events:       d("timeline_events", "Events of the timeline so far; it falls to 0 when the timeline begins anew.", "session"),
		late:         d("timeline_late_events", "Of these, events that came behind later ones.", "session"),
		forced:       d("timeline_forced_events", "Of these, events that did not wait for earlier ones, since memory was full.", "session"),
		lost:         d("timeline_lost_events", "Events that the host's traces lack, as their packets count them.", "session", "host"),
		lag:          d("timeline_lag_seconds", "How old the host's latest event is by the timeline's present.", "session", "host"),
		bound:        d("timeline_bound_seconds", "By how much the time of that event may be wrong; absent where nothing bounds it.", "session", "host"),
		streams:      d("subscribers", "Subscribers by server-sent events."),
		missed:       d("missed_events_total", "Events that subscribers by server-sent events were too slow for."),
		spans:        d("otlp_spans_total", "Spans that the OTLP collector has accepted."),
		spansLost:    d("otlp_dropped_spans_total", "Spans that were not exported: the queue was full, or the collector refused them."),
		spansWait:    d("otlp_queued_spans", "Spans that wait for the OTLP collector."),
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements [prometheus.Collector].
func (c *collector) Collect(to chan<- prometheus.Metric) {
	put := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	if c.agents != nil {
		for _, a := range c.agents() {
			put(c.recorded, prometheus.GaugeValue, float64(a.Recorded), a.Session, a.Host)
			put(c.acknowledged, prometheus.GaugeValue, float64(a.Acknowledged), a.Session, a.Host)
			put(c.lostBytes, prometheus.GaugeValue, float64(a.Lost), a.Session, a.Host)
			c.probes(put, &a)
		}
	}
	for _, s := range c.p.States() {
		put(c.events, prometheus.GaugeValue, float64(s.Events), s.Session)
		put(c.late, prometheus.GaugeValue, float64(s.Late), s.Session)
		put(c.forced, prometheus.GaugeValue, float64(s.Forced), s.Session)
		for _, h := range s.Hosts {
			put(c.lost, prometheus.GaugeValue, float64(h.Lost), s.Session, h.Host)
			put(c.lag, prometheus.GaugeValue, float64(h.LagNs)/1e9, s.Session, h.Host)
			if h.BoundNs != nil {
				put(c.bound, prometheus.GaugeValue, float64(*h.BoundNs)/1e9, s.Session, h.Host)
			}
		}
	}
	put(c.streams, prometheus.GaugeValue, float64(c.p.http.streams.Load()))
	put(c.missed, prometheus.CounterValue, float64(c.p.http.missed.Load()))
	if e := c.p.o.OTLP; e != nil {
		x := e.Stats()
		put(c.spans, prometheus.CounterValue, float64(x.Exported))
		put(c.spansLost, prometheus.CounterValue, float64(x.Dropped))
		put(c.spansWait, prometheus.GaugeValue, float64(x.Queued))
	}
}

// probes are the metrics of the hosts that an agent's host asks for their clocks.
func (c *collector) probes(put func(*prometheus.Desc, prometheus.ValueType, float64, ...string), a *Agent) {
	if a.Probing == nil {
		return
	}
	told := make(map[string]bool, len(a.Probing.Pairs)) // an agent may name a host twice, a scrape may not
	for _, x := range a.Probing.Pairs {
		if told[x.Host] {
			continue
		}
		told[x.Host] = true
		silent := 0.0
		if x.Silent || x.Error != "" {
			silent = 1
		}
		put(c.silent, prometheus.GaugeValue, silent, a.Session, a.Host, x.Host)
		if x.WidthNs > 0 {
			put(c.width, prometheus.GaugeValue, float64(x.WidthNs)/1e9, a.Session, a.Host, x.Host)
		}
		if x.LeastRTTNs > 0 {
			put(c.roundTrip, prometheus.GaugeValue, float64(x.LeastRTTNs)/1e9, a.Session, a.Host, x.Host)
		}
	}
}
