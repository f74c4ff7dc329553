package sensor

import (
	"math"
	"sync/atomic"
)

const counterEnding = ":counter"

// Counter is a whole number whose value is recorded at each change.
type Counter struct {
	Event1[int64]
	value atomic.Int64
}

// NewCounter declares a counter, which begins at 0.
func NewCounter(category, name string) *Counter {
	return declare(category, name, counterEnding, nil, []member{memberOf[int64](name)},
		func(c *Counter) *class { return &c.class })
}

// Add adds to the counter, which counts even while its events are switched off.
func (c *Counter) Add(n int64) { c.Emit(c.value.Add(n)) }

// Set gives the counter a value.
func (c *Counter) Set(v int64) {
	c.value.Store(v)
	c.Emit(v)
}

// Value returns what the counter stands at.
func (c *Counter) Value() int64 { return c.value.Load() }

// Gauge is a number that is measured now and then, as a temperature or a load.
type Gauge struct {
	Event1[float64]
	value atomic.Uint64
}

// NewGauge declares a gauge, which begins at 0.
func NewGauge(category, name string) *Gauge {
	return declare(category, name, counterEnding, nil, []member{memberOf[float64](name)},
		func(g *Gauge) *class { return &g.class })
}

// Set gives the gauge a value.
func (g *Gauge) Set(v float64) {
	g.value.Store(math.Float64bits(v))
	g.Emit(v)
}

// Value returns the value that was set last.
func (g *Gauge) Value() float64 { return math.Float64frombits(g.value.Load()) }
