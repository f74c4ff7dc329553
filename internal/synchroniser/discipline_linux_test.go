package synchroniser

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeClock is an oscillator with an error of its own, beside a true time.
type fakeClock struct {
	oscillator   float64 // ppm
	set          float64 // ppm
	offset       float64 // ours less true, ns
	greatest     float64
	steps        int
	synchronised bool
	daemons      []string
	writes       int
	at           []time.Time // of the writes
}

func (c *fakeClock) Frequency() (float64, bool, error) { return c.set, c.synchronised, nil }
func (c *fakeClock) Daemons() ([]string, error)        { return c.daemons, nil }
func (c *fakeClock) Step(by time.Duration) error       { c.steps++; c.offset += float64(by); return nil }
func (c *fakeClock) advance(over time.Duration) {
	c.offset += (c.oscillator + c.set) * float64(over) / 1e6
}
func (c *fakeClock) SetFrequency(ppm float64) error {
	c.set, c.greatest, c.writes = ppm, max(c.greatest, math.Abs(ppm)), c.writes+1
	c.at = append(c.at, time.Now())
	return nil
}

// reading is what a synchroniser would say with a bound of 4 us.
func (c *fakeClock) reading() Reading {
	o := int64(-c.offset)
	return Reading{Offset: o, Low: o - 2000, High: o + 2000, Bounded: true}
}

func TestDisciplineTakesOffsetAndSkewAway(t *testing.T) {
	for _, start := range []fakeClock{{oscillator: 20, offset: 300e3}, {oscillator: -80, offset: -300e3}, {oscillator: 5, offset: 40e3}} {
		c := start
		d, err := NewDiscipline(&c, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(1e9, 0)
		for range 200 {
			if _, err := d.Steer(now, c.reading()); err != nil {
				t.Fatal(err)
			}
			c.advance(4 * time.Second)
			now = now.Add(4 * time.Second)
		}
		if math.Abs(c.offset) > 4000 || math.Abs(c.oscillator+c.set) > 1 {
			t.Errorf("oscillator %+g ppm, offset %g ns: after 800 s the offset is %.0f ns, the rate %+.3f ppm off", start.oscillator, start.offset, c.offset, c.oscillator+c.set)
		}
		if c.steps != 0 || c.greatest > 100+2*math.Abs(start.oscillator) {
			t.Errorf("it stepped %d times and slewed by %g ppm", c.steps, c.greatest)
		}
		if err := d.Release(); err != nil || math.Abs(c.oscillator+c.set) > 1 {
			t.Errorf("released at %+.3f ppm off: %v", c.oscillator+c.set, err)
		}
	}
}

func TestDisciplineStepsOnlyWhereAllowed(t *testing.T) {
	c := &fakeClock{offset: 2e9}
	d, _ := NewDiscipline(c, Limits{Step: time.Second})
	if did, err := d.Steer(time.Unix(1e9, 0), c.reading()); err != nil || c.steps != 1 || c.offset != 0 || !strings.Contains(did, "stepped by -2s") {
		t.Errorf("%q, %v: %d steps, offset %g", did, err, c.steps, c.offset)
	}
	c = &fakeClock{offset: 2e9}
	d, _ = NewDiscipline(c, Limits{})
	if _, err := d.Steer(time.Unix(1e9, 0), c.reading()); err != nil || c.steps != 0 || c.set != -100 {
		t.Errorf("%v: %d steps, %g ppm instead of the greatest slew", err, c.steps, c.set)
	}
	c = &fakeClock{offset: 2e12}
	d, _ = NewDiscipline(c, Limits{Step: time.Second})
	if _, err := d.Steer(time.Unix(1e9, 0), c.reading()); err == nil || c.writes != 0 || c.steps != 0 {
		t.Errorf("an offset of 2000 s was not refused: %d writes, %d steps", c.writes, c.steps)
	}
}

func TestDisciplineLeavesTheClockAloneWhereItIsUnbounded(t *testing.T) {
	c := &fakeClock{offset: 1e6}
	d, _ := NewDiscipline(c, Limits{})
	r := c.reading()
	r.Bounded = false
	if _, err := d.Steer(time.Unix(1e9, 0), r); err != nil || c.writes != 0 {
		t.Errorf("%d writes, %v", c.writes, err)
	}
	if err := d.Release(); err != nil || c.writes != 0 {
		t.Errorf("released: %d writes, %v", c.writes, err)
	}
}

func TestDisciplineRefusesAClockThatOthersSteer(t *testing.T) {
	for _, c := range []*fakeClock{{synchronised: true}, {daemons: []string{"chronyd"}}} {
		if _, err := NewDiscipline(c, Limits{}); err == nil || c.writes != 0 {
			t.Errorf("%+v was accepted, %d writes", c, c.writes)
		}
	}
}

func TestDaemonsAreFoundByNameButForThoseThatDoNotSteer(t *testing.T) {
	proc := t.TempDir()
	for pid, p := range map[string][2]string{
		"10": {"chronyd", "/usr/sbin/chronyd\x00-x\x00"}, "11": {"ntpd", "ntpd\x00"}, "12": {"bash", "bash\x00"},
		"13": {"systemd-timesyn", "/lib/systemd/systemd-timesyncd\x00"}, "x": {"chronyd", ""},
	} {
		dir := filepath.Join(proc, pid)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for i, file := range []string{"comm", "cmdline"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(p[i]+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	found, err := daemonsIn(proc)
	if slices.Sort(found); err != nil || !slices.Equal(found, []string{"ntpd", "systemd-timesyn"}) {
		t.Errorf("found %q, %v", found, err)
	}
}
