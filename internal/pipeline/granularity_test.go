package pipeline_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"meridian/align"
	"meridian/internal/filetest"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
)

// coarseHost is a host whose clock shows its last tick: true time plus an offset, at a rate of its own, ticking every period ns,
// written down in units.
type coarseHost struct {
	name         string
	offset, rate float64
	phase        float64
	period       float64
	unit         int64
	stamps       []int64 // of its packets
	truth        []int64 // true time of each
	packets      [][]byte
}

const coarseOrigin = 1_790_000_000_000_000_000

// reading returns what the clock shows between its ticks, ns after the origin.
func (h *coarseHost) reading(at int64) float64 { return float64(at)*(1+h.rate) + h.offset }

func (h *coarseHost) capture(at int64, packet []byte) {
	tick := h.phase + math.Floor((h.reading(at)-h.phase)/h.period)*h.period
	stamp := int64(math.Floor(tick/float64(h.unit))) * h.unit
	h.stamps, h.truth, h.packets = append(h.stamps, coarseOrigin+stamp), append(h.truth, at), append(h.packets, packet)
}

// write writes a pcap file in units of 1 us or 1 ns.
func (h *coarseHost) write(t *testing.T, dir string) string {
	magic, perSecond := uint32(0xa1b23c4d), int64(1e9)
	if h.unit%1000 == 0 {
		magic, perSecond = 0xa1b2c3d4, 1e6
	}
	file := binary.LittleEndian.AppendUint32(nil, magic)
	file = append(file, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 101, 0, 0, 0)
	for i, p := range h.packets {
		count := h.stamps[i] / (1e9 / perSecond)
		for _, n := range []int64{count / perSecond, count % perSecond, int64(len(p)), int64(len(p))} {
			file = binary.LittleEndian.AppendUint32(file, uint32(n))
		}
		file = append(file, p...)
	}
	path := filepath.Join(dir, h.name+".pcap")
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func smallDatagram(r *rand.Rand, from, to byte) []byte {
	p := []byte{0x45, 0, 0, 60, byte(r.Uint32()), byte(r.Uint32()), 0, 0, 64, 17, 0, 0, 10, 0, 0, from, 10, 0, 0, to, 0x20, from, 0x20, to, 0, 40, 0, 0}
	for len(p) < 60 {
		p = append(p, byte(r.Uint32()))
	}
	return p
}

// placed returns the bounds of the packets of each host, in order, and what the alignment said.
func placed(t *testing.T, o pipeline.Options, hosts ...*coarseHost) (map[string][][2]int64, *pipeline.Outcome) {
	dir := t.TempDir()
	var args []string
	for _, h := range hosts {
		args = append(args, h.name+"="+h.write(t, dir))
	}
	inputs, err := input.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	table := filepath.Join(dir, "x.csv")
	o.Outputs = []string{table}
	o.Match.Addresses = map[string][]netip.Addr{"web": {netip.MustParseAddr("10.0.0.1")}, "db": {netip.MustParseAddr("10.0.0.2")}}
	o.Align.Options.Method, o.Align.Options.Reference = align.Methods()[0], "db"
	outcome, err := pipeline.Run(t.Context(), inputs, o)
	if err != nil {
		t.Fatal(err)
	}
	rows := filetest.CSV(t, table)
	column := make(map[string]int)
	for i, name := range rows[0] {
		column[name] = i
	}
	bounds := make(map[string][][2]int64)
	for _, row := range rows[1:] {
		if row[column["row"]] != "packets" {
			continue
		}
		var b [2]int64
		for i, name := range []string{"low_ns", "high_ns"} {
			if b[i], err = strconv.ParseInt(row[column[name]], 10, 64); err != nil {
				t.Fatalf("%s: %v (%v)", name, err, outcome.Broken)
			}
		}
		at, err := strconv.ParseInt(row[column["time_ns"]], 10, 64)
		if err != nil || at < b[0] || at > b[1] {
			t.Fatalf("an event of %s at %d is placed between %d and %d, %v", row[column["host"]], at, b[0], b[1], err)
		}
		host := row[column["host"]]
		bounds[host] = append(bounds[host], b)
	}
	return bounds, outcome
}

// talk lets web ask and db answer n times.
func talk(r *rand.Rand, n int, web, db *coarseHost) {
	at := int64(5e9)
	for range n {
		question, answer := smallDatagram(r, 1, 2), smallDatagram(r, 2, 1)
		at += int64(r.ExpFloat64() * 4e7)
		web.capture(at, question)
		at += 40_000 + int64(r.ExpFloat64()*30_000)
		db.capture(at, question)
		at += int64(r.ExpFloat64() * 200_000)
		db.capture(at, answer)
		at += 40_000 + int64(r.ExpFloat64()*30_000)
		web.capture(at, answer)
	}
}

// The true instant of every packet, on the clock of the reference, lies between the bounds of its event: whatever the grids, also
// the reference's, from few stamps and from many.
func TestBoundsOfEventsHoldWhateverGridTheClocksStampOn(t *testing.T) {
	t.Parallel()
	grids := []struct {
		name   string
		period float64
		unit   int64
	}{{"1 ns", 1, 1}, {"1 us", 1000, 1000}, {"1 ms", 1e6, 1000}, {"4 ms", 4e6, 1}, {"10 ms", 1e7, 1000}, {"1/64 s", 1e9 / 64, 1}, {"15.6001 ms", 15_600_100, 1000}, {"1/1024 s", 1e9 / 1024, 1}}
	r := rand.New(rand.NewPCG(7, 11))
	for i, grid := range grids {
		for _, exchanges := range []int{6, 35, 400} {
			other := grids[(i+exchanges)%len(grids)]
			t.Run(fmt.Sprintf("%s and %s, %d exchanges", grid.name, other.name, exchanges), func(t *testing.T) {
				web := &coarseHost{name: "web", offset: 3.1e9, rate: 4.2e-4, period: grid.period, unit: grid.unit}
				db := &coarseHost{name: "db", offset: -1.7e8, rate: -3e-5, period: other.period, unit: other.unit}
				for _, h := range []*coarseHost{web, db} {
					if h.period > 1e6 { // ticks since the host was started; others are cut
						h.phase = math.Floor(r.Float64() * h.period)
					}
				}
				talk(r, exchanges, web, db)
				bounds, outcome := placed(t, pipeline.Options{}, web, db)
				for _, h := range []*coarseHost{web, db} {
					if len(bounds[h.name]) != len(h.truth) {
						t.Fatalf("%d packets of %s, want %d (%v)", len(bounds[h.name]), h.name, len(h.truth), outcome.Broken)
					}
					outside := 0
					for i, b := range bounds[h.name] {
						if truth := coarseOrigin + int64(math.Floor(db.reading(h.truth[i]))); truth < b[0] || truth > b[1] {
							outside++
						}
					}
					if outside > 0 {
						t.Errorf("%d of %d packets of %s outside; granularity %+v", outside, len(h.truth), h.name, outcome.Report.Hosts)
					}
				}
				if len(outcome.Broken) > 0 {
					t.Error(outcome.Broken)
				}
			})
		}
	}
}

// What the user states holds, finer or coarser than the stamps look.
func TestStatedGranularityHolds(t *testing.T) {
	for _, c := range []struct {
		stated  map[string]int64
		web, db int64
	}{{nil, 1_000_000, 1000}, {map[string]int64{"": 5_000_000}, 5_000_000, 5_000_000}, {map[string]int64{"": 990_000, "db": 900}, 990_000, 900}, {map[string]int64{"web": 2_000_000}, 2_000_000, 1000}} {
		web := &coarseHost{name: "web", offset: 3.1e9, period: 1e6, unit: 1000}
		db := &coarseHost{name: "db", period: 1000, unit: 1000}
		talk(rand.New(rand.NewPCG(1, 1)), 50, web, db)
		_, outcome := placed(t, pipeline.Options{Match: pipeline.MatchOptions{Granularity: c.stated}}, web, db)
		got := make(map[string]int64)
		for _, h := range outcome.Report.Hosts {
			got[h.Name] = h.GranularityNs
		}
		if got["web"] != c.web || got["db"] != c.db {
			t.Errorf("stated %v: %v", c.stated, got)
		}
	}
}

// What bounds rest on is said: the least delay that was stated, and how coarse which stamps are.
func TestTheAssumptionNamesLeastDelayAndGranularity(t *testing.T) {
	for _, c := range []struct {
		web, db float64
		least   int64
		want    string
	}{
		{1, 1, 0, ""},
		{1, 1, 10_000, "; no message takes less than 10µs (--min-delay)"},
		{1e6, 1000, 0, "; an event is later than its stamp by less than 1ms (web), 1µs (db)"},
		{1e6, 1, 0, "; an event is later than its stamp by less than 1ms (web)"},
		{1000, 1000, 10_000, "; no message takes less than 10µs (--min-delay); no more are false than 1 of the 50 messages from web to db and 1 of the 50 messages from db to web; an event is later than its stamp by less than 1µs"},
	} {
		web := &coarseHost{name: "web", offset: 3.1e9, period: c.web, unit: int64(c.web)}
		db := &coarseHost{name: "db", period: c.db, unit: int64(c.db)}
		talk(rand.New(rand.NewPCG(1, 1)), 50, web, db)
		o := pipeline.Options{}
		o.Align.MinDelay = c.least
		if _, outcome := placed(t, o, web, db); !strings.Contains(outcome.Report.Assumption, c.want) ||
			strings.Contains(outcome.Report.Assumption, "min-delay") != (c.least > 0) || strings.Contains(outcome.Report.Assumption, "stamp") != (max(c.web, c.db) > 1) {
			t.Errorf("%v and %v: %q", c.web, c.db, outcome.Report.Assumption)
		}
	}
}
