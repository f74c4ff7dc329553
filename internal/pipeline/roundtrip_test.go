package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meridian/align"
	"meridian/clock"
	"meridian/format/messages"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/show"
	"meridian/trace"
)

// exchanged returns a list of exchanges of a and b, whose clock is 3 s ahead and gains 20 ppm, and the least round trip of one,
// from the four stamps that each was made of. The quickest message there and the quickest one back are of different exchanges.
func exchanged(t *testing.T) (file string, least int64) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	onB := func(at int64) clock.HostTime { return clock.HostTime(at + 3_000_000_000 + at/50_000) }
	there, back := trace.Channel{From: 0, To: 1}, trace.Channel{From: 1, To: 0}
	for i := range int64(400) {
		t1 := 1_000_000_000_000 + i*50_000_000
		delay := func() int64 { return 40_000 + int64(r.ExpFloat64()*30_000) }
		t2 := t1 + delay()
		t3 := t2 + 20_000 + r.Int64N(30_000)
		t4 := t3 + delay()
		there.Messages = append(there.Messages, trace.Message{Sent: clock.HostTime(t1), Received: onB(t2)})
		back.Messages = append(back.Messages, trace.Message{Sent: onB(t3), Received: clock.HostTime(t4)})
		if way := t4 - t1 - int64(onB(t3)-onB(t2)); least == 0 || way < least {
			least = way
		}
	}
	list := trace.List{Hosts: []string{"a", "b"}, Channels: []trace.Channel{there, back}}
	var text strings.Builder
	if err := messages.Write(&text, &list); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "list.txt")
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return file, least
}

// reportOf aligns a list and returns the report, with a as the reference.
func reportOf(t *testing.T, file, method string) *show.Report {
	t.Helper()
	inputs, err := input.Parse([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	o := pipeline.Options{Align: pipeline.AlignOptions{Options: align.Options{Method: method, Reference: "a", Confidence: 90}}}
	outcome, err := pipeline.Run(t.Context(), inputs, o)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return outcome.Report
}

func TestLeastRoundTripIsOfAnExchangeThatWasSeenByEveryMethod(t *testing.T) {
	file, least := exchanged(t)
	for _, method := range align.Methods() {
		if method == "broadcast" || method == "sampled" { // which align by no messages
			continue
		}
		got := reportOf(t, file, method).Pairs[0].MinRTTNs
		if got == nil || *got != least {
			t.Errorf("%s: least round trip %s, not %d ns", method, number(got), least)
		}
	}
}

func TestAClockThatIsAheadAndGainsHasAPositiveOffsetAndSkewEverywhere(t *testing.T) {
	file, _ := exchanged(t)
	r := reportOf(t, file, "envelope")
	h, p := &r.Hosts[1], &r.Pairs[0]
	// In the middle b is 3 s and 20 ppm of 1010 s ahead.
	const offset, skew = 3_020_200_000, 20.0
	for what, got := range map[string]*int64{"host": h.OffsetNs, "pair": p.OffsetNs} {
		if got == nil || *got < offset-300_000 || *got > offset+300_000 {
			t.Errorf("offset of the %s: %s, not %d", what, number(got), offset)
		}
	}
	for what, got := range map[string]*float64{"host": h.SkewPPM, "pair": p.SkewPPM} {
		if got == nil || *got < skew-5 || *got > skew+5 {
			t.Errorf("skew of the %s: %v, not %g ppm", what, got, skew)
		}
	}
	// A stamp less the offset is where the map puts it.
	k := h.Map[len(h.Map)/2]
	if off := int64(k.HostNs) - *h.OffsetNs - int64(k.TimelineNs); off < -300_000 || off > 300_000 {
		t.Errorf("a stamp less its clock's offset is %d ns from its place on the timeline", off)
	}
	offsetText, skewText, _ := h.Texts()
	pair := r.PairTexts()[0]
	if !strings.HasPrefix(offsetText, "+3.02") || !strings.HasPrefix(pair[6], "+3.02") || !strings.HasPrefix(skewText, "+") || !strings.HasPrefix(pair[7], "+") {
		t.Errorf("the table has %s, %s and for the pair %s, %s", offsetText, skewText, pair[6], pair[7])
	}
}

func number(ns *int64) string {
	if ns == nil {
		return "none"
	}
	return fmt.Sprint(*ns)
}
