package record

import (
	"testing"

	"meridian/internal/record/kernel"
	"meridian/internal/testseed"
)

// FuzzParseTrigger reads what operators give agents as flags. What is believed is written as text that means the same.
func FuzzParseTrigger(f *testing.F) {
	for _, text := range []string{"sched_switch,prev_tid=17", "http:request,status>=500,ms>100", " a ,b!=\"x\"", ",", "net,sched", ""} {
		f.Add(text)
	}
	testseed.Fuzz(f, func(t *testing.T, text string) {
		if trigger, err := ParseTrigger(text); err == nil {
			once := trigger.String()
			again, err := ParseTrigger(once)
			if err != nil || again.String() != once {
				t.Errorf("%q becomes %q, then %q, %v", text, once, again.String(), err)
			}
		}
		if g, err := kernel.ParseGroups(text); err == nil {
			if again, err := kernel.ParseGroups(g.String()); err != nil || again != g {
				t.Errorf("%q becomes %v, then %v, %v", text, g, again, err)
			}
		}
	})
}
