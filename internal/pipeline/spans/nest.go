package spans

import (
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"meridian/clock"
)

// nesting is what moves a span into its parent.
type nesting struct {
	parent     *span
	children   []*span
	after      bool               // it starts after its parent
	before     bool               // it ended before its parent
	outside    bool               // one of these was given up: no places within the bounds do it
	begins     clock.TimelineTime // the latest start that all spans within it allow
	ends       clock.TimelineTime // the latest end that all spans around it allow
	lastInside clock.TimelineTime // the latest end of a span within it
}

// nestAll moves starts and ends within their bounds, by the least that makes all hold of
//
//	start of parent <= start of child <= end of child <= end of parent
//
// as far as [span.within] asks for it. An order from which none of these lead back is: all starts, the outermost first, then all ends, the innermost first. Against that
// order each instant gets the latest place that what follows it allows, and a relation with no place for it is given up. Then, in that order, each takes the place next to its
// estimate that is no earlier than all before it. Spans whose parents form a circle stay where they are.
func nestAll(all []*span, of map[spanKey]*span) {
	order := outermostFirst(all, of)
	for _, s := range order {
		s.begins, s.ends = s.begin.latest(), s.end.latest()
		if s.parent == nil {
			continue
		}
		s.after, s.before = s.within(s.parent)
		if s.before && s.parent.ends < s.end.earliest() {
			s.before, s.outside = false, true
		}
		if s.before {
			s.ends = min(s.ends, s.parent.ends)
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		s := order[i]
		if s.forward() {
			s.begins = min(s.begins, s.ends)
		}
		if s.after && s.begins < s.parent.begin.earliest() {
			s.after, s.outside = false, true
		}
		if s.after {
			s.parent.begins = min(s.parent.begins, s.begins)
		}
	}
	for _, s := range order {
		if s.after {
			s.begin.Time = max(s.begin.Time, s.parent.begin.Time)
		}
		s.begin.Time = min(s.begin.Time, s.begins)
	}
	for i := len(order) - 1; i >= 0; i-- {
		s := order[i]
		if !s.ended() {
			continue
		}
		s.end.Time = max(s.end.Time, s.lastInside)
		if s.forward() {
			s.end.Time = max(s.end.Time, s.begin.Time)
		}
		s.end.Time = min(s.end.Time, s.ends)
		if s.before {
			s.parent.lastInside = max(s.parent.lastInside, s.end.Time)
		}
	}
}

// outermostFirst finds the parents, and returns all spans that have a root, each behind its parent.
func outermostFirst(all []*span, of map[spanKey]*span) []*span {
	order := make([]*span, 0, len(all))
	for _, s := range all {
		s.lastInside = -clock.Limit
		if p := of[spanKey{string(s.TraceId), string(s.ParentSpanId)}]; p != nil && p != s && len(s.ParentSpanId) > 0 {
			s.parent = p
			p.children = append(p.children, s)
		} else {
			order = append(order, s)
		}
	}
	for i := 0; i < len(order); i++ {
		order = append(order, order[i].children...)
	}
	return order
}

// forward reports whether a span ended after it started, as recorded.
func (s *span) forward() bool { return s.ended() && s.recorded[1] >= s.recorded[0] }

// within says of a child whether it must start after its parent, and whether it must have ended before that ended.
func (s *span) within(p *span) (after, before bool) {
	both := s.ended() && p.ended()
	if s.clock.Number == p.clock.Number {
		return s.recorded[0] >= p.recorded[0], both && s.recorded[1] <= p.recorded[1]
	}
	switch {
	case s.clock.Component != p.clock.Component || !s.clock.Aligned:
		return false, false
	case p.Kind == v1.Span_SPAN_KIND_CLIENT && s.Kind == v1.Span_SPAN_KIND_SERVER:
		return true, both && p.Status.GetCode() != v1.Status_STATUS_CODE_ERROR
	case p.Kind == v1.Span_SPAN_KIND_PRODUCER && s.Kind == v1.Span_SPAN_KIND_CONSUMER:
		return true, false
	}
	return false, false
}

// earliest and latest are how far a place may move: within its bounds, which the estimate of a published method may not be in; without bounds nowhere.
func (p *Place) earliest() clock.TimelineTime {
	if !p.Bounded {
		return p.Time
	}
	return min(p.Low, p.Time)
}

func (p *Place) latest() clock.TimelineTime {
	if !p.Bounded {
		return p.Time
	}
	return max(p.High, p.Time)
}
