package show

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/filetest"
)

// evaluation has a method with everything, one without truth, and one that refused.
func evaluation() *Evaluation {
	host := func(name, reference string, truth *Deviation) MeasuredHost {
		return MeasuredHost{Name: name, Reference: reference, Truth: truth,
			BoundNs: BoundRange{Best: ptr(int64(21340)), Mean: ptr(int64(22540)), Worst: ptr(int64(29350))}}
	}
	two := &Deviation{RMSNs: 12790.4, MaxNs: 12800, CentredRMSNs: 12.34, CentredMaxNs: 99, SymmetricRMSNs: ptr(34.56), SymmetricMaxNs: ptr(80.0),
		AsymmetryNs: ptr(13000.0), Within: ptr(1.0), Always: ptr(true), WidthMedianNs: ptr(int64(61180)), WidthP95Ns: ptr(int64(61690)),
		RoundTripNs: ptr(int64(62000)), RatioMedian: ptr(0.9867), RatioP95: ptr(0.995)}
	more := &Deviation{RMSNs: 1e6, MaxNs: 2e9, CentredRMSNs: 500, Within: ptr(0.99999), Always: ptr(false),
		WidthMedianNs: ptr(int64(1)), WidthP95Ns: ptr(int64(2))}
	return &Evaluation{Reference: "web", Methods: []Measured{
		{
			Method: "hull", Assumption: "every clock is linear", ElapsedNs: 1234567, Error2SDNs: ptr(456.7),
			Regression: []PairLine{
				{A: "web", B: "db", Line: Line{OriginNs: 1767225600683849945, Exchanges: 2332, ResidualNs: ptr(1550.2), OffsetNs: -1_783_219_883,
					OffsetErrorNs: ptr(64.2), SkewPPM: -38.565, SkewErrorPPM: ptr(0.000185)}},
				{A: "web", B: "evil\n\x1b[31m", Line: Line{OriginNs: 12, Exchanges: 2, OffsetNs: 5, SkewPPM: 0.25, SkewErrorPPM: ptr(math.NaN())}},
			},
			Quality: Quality{Messages: 4666, Inversions: 3, InversionsBeyondGranularity: 1, TooFast: 1458, OutsideEvents: 1, OutsideNs: 90,
				BoundNs: BoundRange{Best: ptr(int64(21340)), Mean: ptr(int64(22540)), Worst: ptr(int64(29350))}},
			Broadcasts: &Differential{Broadcasts: 120, MinNs: 3, MaxNs: 51000, MeanNs: 9876.5, DeviationNs: 12.3},
			BroadcastPairs: []PairDifferential{
				{A: "web", B: "db", Differential: Differential{Broadcasts: 118, MinNs: -240000, MaxNs: 227000, MeanNs: -10812.4, DeviationNs: 103000}},
				{A: "web", B: "evil\n\x1b[31m", Differential: Differential{Broadcasts: 2, MinNs: -51, MaxNs: 51, MeanNs: 0.5, DeviationNs: 72.1}},
			},
			Directions: []Direction{
				{From: "web", To: "db", Messages: 2333, Inversions: 3, InversionsBeyondGranularity: 1, TooFast: 1458,
					QuickestNs: ptr(int64(-2000)), MinDelayNs: ptr(int64(44510)), Source: "truth"},
				{From: "db", To: "web\x1b[31m", Messages: 2333, QuickestNs: ptr(int64(30210))},
			},
			Hosts: []MeasuredHost{host("web", "web", nil), host("db", "web", two), host("evil\n\x1b[31m", "web", more)},
			Truth: more,
		},
		{Method: "regression", ElapsedNs: 999, Quality: Quality{Messages: 4666, OutsideEvents: 31, OutsideNs: 308000}, UnboundedEvents: 7},
		{Method: "sampled", Refused: "needs samples\x1b[31m of a reference"},
	}}
}

func TestEvaluationTablesSayHowSureEachNumberIs(t *testing.T) {
	one, all := evaluation(), evaluation()
	one.Methods = one.Methods[:1]
	for name, e := range map[string]*Evaluation{"evaluation-detail": one, "evaluation-compare": all} {
		var got bytes.Buffer
		if err := e.Table(&got); err != nil {
			t.Fatal(err)
		}
		filetest.Golden(t, filepath.Join("testdata", name+".table"), got.String())
		if strings.Contains(got.String(), "\x1b") {
			t.Errorf("%s steers the terminal", name)
		}
	}
}

func TestBoundsThatOnceFailedAreNotWrittenAsAlwaysHolding(t *testing.T) {
	for _, c := range []struct {
		within float64
		always bool
		want   string
	}{{1, true, "100 %"}, {0.999999, false, "99.99 %"}, {0.5, false, "50.00 %"}, {0, false, "0.00 %"}} {
		if got := percent(&Deviation{Within: &c.within, Always: &c.always}); got != c.want {
			t.Errorf("%v is written %s, not %s", c.within, got, c.want)
		}
	}
	if got := percent(&Deviation{}); got != "-" {
		t.Errorf("without bounds %s", got)
	}
}

func TestEvaluationsJSONHasNoNullArraysAndReadsBack(t *testing.T) {
	for _, e := range []*Evaluation{evaluation(), {}} {
		var out bytes.Buffer
		if err := e.Write(&out); err != nil {
			t.Fatal(err)
		}
		var back map[string]any
		if err := json.Unmarshal(out.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"methods", "warnings"} {
			if _, ok := back[name].([]any); !ok {
				t.Errorf("%s is no array", name)
			}
		}
		for _, m := range back["methods"].([]any) {
			for _, name := range []string{"directions", "hosts", "broadcast_pairs", "regression"} {
				if _, ok := m.(map[string]any)[name].([]any); !ok {
					t.Errorf("%s of a method is no array", name)
				}
			}
			if _, ok := m.(map[string]any)["messages"].(float64); !ok {
				t.Error("a method does not count its messages")
			}
		}
	}
}
