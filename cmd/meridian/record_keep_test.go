package main

import (
	"testing"
	"time"

	"meridian/internal/record"
)

func TestKeepIsADurationOrASizeOrBoth(t *testing.T) {
	for text, want := range map[string]record.Keep{
		"10m": {Time: 10 * time.Minute}, "2GiB": {Bytes: 2 << 30}, "10m,2GiB": {Time: 10 * time.Minute, Bytes: 2 << 30},
		"1.5GB, 90s": {Time: 90 * time.Second, Bytes: 1_500_000_000}, "1MiB": {Bytes: 1 << 20},
	} {
		var k keepValue
		if err := k.Set(text); err != nil || k.Keep != want {
			t.Errorf("%s: %+v, %v", text, k.Keep, err)
		}
	}
	for _, text := range []string{"", "10", "1kB", "10ms", "-5m", "-3GiB", "xGiB", "9e9TiB", "NaNGiB", "10m,", "10 parsecs", "1h,2h", "1h,1h", "1GiB,2GiB", "1h,1GiB,2h"} {
		var k keepValue
		if err := k.Set(text); err == nil {
			t.Errorf("%q is taken for %+v", text, k.Keep)
		}
	}
}
