package show

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestDelaysLeaveOutOfTheMeanWhatIsBeyondTwiceTheMinimum(t *testing.T) {
	d := NewDelays("round trip", "db", []int64{400, 100, 200, 150, 201}, nil)
	if d.Min != 100 || d.Max != 400 || d.Median != 200 || d.Trimmed != 2 || d.TrimmedMean != 150 || math.Abs(d.Mean-210.2) > 1e-9 {
		t.Errorf("%+v", d)
	}
}

func TestDelaysAreEachInOneBar(t *testing.T) {
	for _, ns := range [][]int64{{5}, {5, 5, 5}, {1, 1000000}, {-40, 30, 20, 10}, {100, 101, 102, 5000}} {
		all := append([]int64{}, ns...)
		d := NewDelays("", "", ns, nil)
		for i, b := range d.Buckets {
			inside := 0
			for _, v := range all {
				if v >= b.From && v < b.To {
					inside++
				}
			}
			if inside != b.Count || i > 0 && b.From != d.Buckets[i-1].To {
				t.Errorf("%v: bar %d from %d to %d has %d, not %d", all, i, b.From, b.To, b.Count, inside)
			}
		}
	}
}

func TestDelaysShowAllKindsInEveryForm(t *testing.T) {
	bound := int64(1200)
	r := &DelayReport{Title: "a <b>", Delays: []*Delays{
		NewDelays("there", "db", []int64{10_000, 12_000, 50_000}, &bound), NewDelays("back", "db\x1b", nil, nil),
	}}
	var table, picture strings.Builder
	if err := errors.Join(r.Table(&table), r.SVG(&picture)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"host", "10.00 µs", "1.200 µs", "mean to 2 min", "####"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
	for in := xml.NewDecoder(strings.NewReader(picture.String())); ; {
		_, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(table.String(), "\x1b") {
		t.Error("a control character reaches the terminal")
	}
}
