package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"meridian/internal/record"
)

// keepValue is the value of --keep: a duration, a size, or both.
type keepValue struct{ record.Keep }

var sizeUnits = []struct {
	name  string
	bytes float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}

func (k *keepValue) Set(text string) error {
	var duration, size string // the parts
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		bytes, isSize, err := parseSize(part)
		if err != nil {
			return err
		}
		if isSize {
			if bytes < record.MinKeepBytes {
				return fmt.Errorf("%s is less than 1MiB, the least that can be kept", part)
			}
			if size != "" {
				return fmt.Errorf("%s and %s are two sizes: write one, and at most one duration", size, part)
			}
			k.Bytes, size = bytes, part
			continue
		}
		d, err := time.ParseDuration(part)
		if err != nil {
			return fmt.Errorf("%q is neither a duration nor a size: write 10m, 2GiB, or both as 10m,2GiB", part)
		}
		if d < record.MinKeepTime {
			return fmt.Errorf("%s is less than %v, the least that can be kept", part, record.MinKeepTime)
		}
		if duration != "" {
			return fmt.Errorf("%s and %s are two durations: write one, and at most one size", duration, part)
		}
		k.Time, duration = d, part
	}
	return nil
}

// parseSize reads a number with a unit of bytes; false for a text without one.
func parseSize(text string) (bytes int64, ok bool, err error) {
	for _, u := range sizeUnits {
		number, found := strings.CutSuffix(text, u.name)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(n >= 0) || n*u.bytes >= math.MaxInt64 {
			return 0, true, fmt.Errorf("invalid size %q: write a number before %s", text, u.name)
		}
		return int64(n * u.bytes), true, nil
	}
	return 0, false, nil
}

func (k *keepValue) String() string { return k.Keep.String() }
func (k *keepValue) Type() string   { return "keep" }

// spoolValue is the value of --spool: a size.
type spoolValue struct{ *record.Keep }

func (s spoolValue) Set(text string) error {
	bytes, isSize, err := parseSize(text)
	switch {
	case err != nil:
		return err
	case !isSize:
		return fmt.Errorf("%q is not a size: write 500MiB or 4GiB", text)
	case bytes < record.MinKeepBytes:
		return fmt.Errorf("%s is less than 1MiB, the least that can be kept", text)
	}
	s.Spool = bytes
	return nil
}

func (s spoolValue) String() string {
	if s.Keep == nil || s.Spool == 0 {
		return ""
	}
	return fmt.Sprint(float64(s.Spool)/(1<<20), "MiB")
}

func (s spoolValue) Type() string { return "size" }

// droppedBy names the flags by which a recorder drops; "" for none: then one before it did.
func droppedBy(k record.Keep) string {
	var flags []string
	if k.Time > 0 || k.Bytes > 0 {
		flags = append(flags, "--keep")
	}
	if k.Spool > 0 {
		flags = append(flags, "--spool")
	}
	if k.Release {
		flags = append(flags, "--release")
	}
	switch len(flags) {
	case 0:
		return ""
	case 1:
		return ", as " + flags[0] + " says"
	}
	return ", as " + strings.Join(flags[:len(flags)-1], ", ") + " and " + flags[len(flags)-1] + " say"
}

// droppedLine says what was dropped, and by which flags.
func droppedLine(d *record.Dropped, k record.Keep) string {
	what := counted(d.Packets, "packet")
	if d.Events > 0 {
		what = counted(d.Events, "event") + " in " + what
	}
	return fmt.Sprintf("not kept%s: %s, %.1f MB; the trace is whole from %s on", droppedBy(k), what, float64(d.Bytes)/1e6,
		time.Unix(0, d.WholeFrom).Format("2006-01-02 15:04:05.000000"))
}
