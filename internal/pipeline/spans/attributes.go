package spans

import (
	"slices"

	common "go.opentelemetry.io/proto/otlp/common/v1"

	"meridian/clock"
)

// The attributes that a span gets. Those of bounds are what servers export as well (internal/collect/publish).
const (
	beginLow      = "meridian.begin.low_ns" // ns since 1970, on the timeline
	beginHigh     = "meridian.begin.high_ns"
	endLow        = "meridian.end.low_ns"
	endHigh       = "meridian.end.high_ns"
	beginRecorded = "meridian.begin.recorded_ns" // ns since 1970, by the host's clock
	endRecorded   = "meridian.end.recorded_ns"
	unbounded     = "meridian.unbounded"      // true where nothing bounds the start or the end
	component     = "meridian.component"      // where there are several time bases
	outsideParent = "meridian.outside_parent" // true where bounds do not allow what causality asks for
)

var ours = []string{beginLow, beginHigh, endLow, endHigh, beginRecorded, endRecorded, unbounded, component, outsideParent}

// write gives a span its times on the timeline, and its bounds as attributes. Attributes that an earlier run gave it are replaced.
func (s *span) write() {
	if !s.clock.Aligned {
		return
	}
	s.StartTimeUnixNano = written(s.begin.Time)
	s.Attributes = slices.DeleteFunc(s.Attributes, func(kv *common.KeyValue) bool { return slices.Contains(ours, kv.GetKey()) })
	s.number(beginRecorded, int64(s.recorded[0]))
	if s.begin.Bounded {
		s.number(beginLow, int64(s.begin.Low))
		s.number(beginHigh, int64(s.begin.High))
	}
	if s.ended() {
		s.EndTimeUnixNano = written(s.end.Time)
		s.number(endRecorded, int64(s.recorded[1]))
		if s.end.Bounded {
			s.number(endLow, int64(s.end.Low))
			s.number(endHigh, int64(s.end.High))
		}
	}
	if !s.begin.Bounded || s.ended() && !s.end.Bounded {
		s.flag(unbounded)
	}
	if s.clock.Several {
		s.number(component, int64(s.clock.Component))
	}
	if s.outside {
		s.flag(outsideParent)
	}
	for i, e := range s.Events {
		at, ok := stamp(e.TimeUnixNano)
		if !ok {
			continue
		}
		t := s.events[i].Time
		if at >= s.recorded[0] {
			t = max(t, s.begin.Time)
		}
		if s.ended() && at <= s.recorded[1] {
			t = min(t, max(s.begin.Time, s.end.Time))
		}
		e.TimeUnixNano = written(t)
	}
}

// written is a time as OTLP has it, which cannot be before 1970.
func written(t clock.TimelineTime) uint64 { return uint64(max(t, 1)) }

func (s *span) number(key string, n int64) {
	s.Attributes = append(s.Attributes, &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}})
}

func (s *span) flag(key string) {
	s.Attributes = append(s.Attributes, &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: true}}})
}
