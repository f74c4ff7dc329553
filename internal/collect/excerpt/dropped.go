package excerpt

import (
	"io"
	"slices"

	"meridian/format/ctf"
	"meridian/internal/retention"
	"meridian/trace"
)

// dropped tells what the recorder dropped of the span, as a stream of the excerpt like that of the trace.
func (x *excerpt) dropped(meta *ctf.Metadata) error {
	class := slices.IndexFunc(meta.Streams, func(s ctf.StreamClass) bool {
		return slices.ContainsFunc(s.Events, func(e ctf.EventClass) bool { return e.Name == retention.Class().Name })
	})
	if class < 0 {
		return nil // nothing ever was
	}
	named := make(map[string]retention.Dropped) // the latest event of each
	var all, rest retention.Span
	earliest := uint64(1<<63 - 1)
	err := retention.Each(x.dir, func(d *retention.Dropped) error {
		if d.All.Bytes >= all.Bytes {
			all = d.All
		}
		earliest = min(earliest, d.Begin)
		x.recorded(cycles(d.Begin))
		named[d.File] = *d
		return nil
	})
	if err != nil || len(named) == 0 {
		return err
	}
	var list []retention.Dropped
	rest = all
	for name, d := range named {
		if !isState(name) {
			rest.Packets, rest.Events, rest.Bytes = rest.Packets-d.Packets, rest.Events-d.Events, rest.Bytes-d.Bytes
		}
		if isState(name) || slices.Contains(x.copied, retention.PathOf(name)) || cycles(d.Begin) > x.span.To || cycles(d.End) < x.span.From {
			continue
		}
		list = append(list, d)
	}
	var sum retention.Span
	if int64(rest.Bytes) > 0 && cycles(earliest) > x.span.From { // dropped so long ago that no event is left which says when
		sum.Add(retention.Span{Packets: uint64(max(0, int64(rest.Packets))), Events: uint64(max(0, int64(rest.Events))), Bytes: rest.Bytes, Begin: 0, End: earliest})
	}
	slices.SortFunc(list, func(a, b retention.Dropped) int { return int(cycles(a.Begin) - cycles(b.Begin)) })
	for i := range list {
		sum.Add(list[i].Span)
		list[i].All, list[i].Until = sum, sum.End
	}
	if len(list) == 0 {
		if sum.Bytes == 0 {
			return nil
		}
		// Its event names nothing but the sum.
		list = append(list, retention.Dropped{File: "none", Row: retention.Stream, All: sum, Until: sum.End})
	}
	x.sum.Dropped, x.sum.Any = list[len(list)-1], true
	return x.tell(meta, class, list)
}

// isState reports whether a file is of clocks, which are not counted.
func isState(name string) bool { return len(name) > 7 && name[:7] == "clocks_" }

// tell writes the events, at the end of the trace: readings of clocks that are older than the span may be dropped.
func (x *excerpt) tell(meta *ctf.Metadata, class int, list []retention.Dropped) error {
	event := slices.IndexFunc(meta.Streams[class].Events, func(e ctf.EventClass) bool { return e.Name == retention.Class().Name })
	return x.write(retention.Stream+"_0_0", func(w io.Writer) error {
		context := []trace.Value{trace.OfText(retention.Stream), trace.OfText(trace.OtherStream.String()), trace.OfInt(0)}
		s, err := ctf.NewEncoder(meta).NewStream(w, class, ctf.StreamOptions{Context: context})
		if err != nil {
			return err
		}
		for i := range list {
			if err := s.Write(event, uint64(max(x.latest, 0)), nil, nil, list[i].Values(nil)); err != nil {
				return err
			}
		}
		return s.Flush()
	})
}
