package pipeline

import (
	"cmp"
	"slices"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/trace"
)

// Captures hold more than packets: secrets with which a dissector decrypts them, names of addresses, blocks of other
// programs, and statistics of interfaces. A merged capture has them too. Secrets and names come first, since a
// dissector needs them before the packets; statistics come last, at corrected times, in their order.

// fileBlocks returns the blocks of a capture that belong to each of its segments: those between the segment's packets.
// Segments that share packets, as of two clocks, share no block.
func fileBlocks(c *trace.Capture, segments []segment) [][]trace.FileBlock {
	of := make([][]trace.FileBlock, len(segments))
	for _, b := range c.Blocks {
		to := 0
		for i, s := range segments {
			if s.packets.From <= b.Packets {
				to = i
			}
		}
		if b.Kind == trace.StatisticsBlock {
			b.Time = plausibleTime(c, &b)
		}
		of[to] = append(of[to], b)
	}
	return of
}

// plausibleTime returns the time of statistics: that of the packet beside them where they have none, which shows in
// years between the two.
func plausibleTime(c *trace.Capture, b *trace.FileBlock) clock.HostTime {
	const year = 365 * 24 * 3600 * 1_000_000_000
	n := c.Packets.Len()
	if n == 0 {
		return b.Time
	}
	beside := c.Packets.At(min(b.Packets, n-1)).Time
	if d := b.Time - beside; d > year || d < -year {
		return beside
	}
	return b.Time
}

// writeLeadingBlocks writes secrets, names and other programs' blocks. What several files of a host repeat is written
// once.
func (m *packetMerge) writeLeadingBlocks(out *pcap.Writer) error {
	if m.redact != nil {
		return nil // they are all about payload and addresses, or unknown
	}
	type content struct {
		kind trace.BlockKind
		data string
	}
	written := make(map[content]bool)
	for _, kind := range []trace.BlockKind{trace.SecretsBlock, trace.NamesBlock, trace.CustomBlock} {
		for _, s := range m.segments {
			for i := range s.blocks {
				b := &s.blocks[i]
				if b.Kind != kind || !s.selected {
					continue
				}
				if kind != trace.CustomBlock {
					if key := (content{kind, string(b.Data)}); written[key] {
						continue
					} else {
						written[key] = true
					}
				}
				if err := out.Block(b); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// writeStatistics writes the statistics of interfaces within the selected time.
func (m *packetMerge) writeStatistics(out *pcap.Writer, faces *interfaceTable) error {
	type statistics struct {
		face int
		trace.FileBlock
	}
	var all []statistics
	from, to := &m.selection.From, &m.selection.To
	for source, s := range m.segments {
		for _, b := range s.blocks {
			if b.Kind != trace.StatisticsBlock || !s.selected || b.Interface >= len(faces.known[source]) {
				continue
			}
			at := s.clock.At(b.Time)
			if from.Timed && at < from.Time || to.Timed && at > to.Time || at < clock.TimelineTime(m.begins)*1_000_000_000 {
				continue
			}
			b.Time = clock.HostTime(at) // the clock of the merged capture is the timeline
			for _, t := range []*clock.HostTime{&b.Began, &b.Ended} {
				if *t != 0 {
					*t = clock.HostTime(s.clock.At(*t))
				}
			}
			if m.redact != nil {
				b.Data = pcap.Counts(b.Data)
			}
			all = append(all, statistics{faces.known[source][b.Interface] - 1, b})
		}
	}
	slices.SortStableFunc(all, func(a, b statistics) int { return cmp.Compare(a.Time, b.Time) })
	for i := range all {
		if err := out.CopyStatistics(all[i].face, &all[i].FileBlock); err != nil {
			return err
		}
	}
	return nil
}

// warnOfBlocks names the captures of which a merged capture leaves out blocks.
func (m *packetMerge) warnOfBlocks(w *trace.Warnings) {
	files := make(map[string]bool)
	for _, s := range m.segments {
		if !s.selected || files[s.file] {
			continue
		}
		files[s.file] = true
		if s.blocksLeft > 0 {
			w.AddN(s.file, "blocks that merged captures leave out: they forbid to be copied, are of an unknown kind, or take more than 64 MiB", "", int64(s.blocksLeft))
		}
	}
}
