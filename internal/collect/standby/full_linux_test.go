package standby

import (
	"testing"
	"time"

	"meridian/internal/filetest"
)

// An order appears whole or not at all: after a full disk the next agent has the one before, or none.
func TestAnOrderOnAFullDiskIsTheOneBefore(t *testing.T) {
	filetest.Filling(t, func(dir string) bool {
		before := &order{Session: "d", Since: time.Now().UTC()}
		if err := before.write(dir); err != nil {
			if x, err := readOrder(dir); x != nil || err != nil {
				t.Errorf("%+v, %v", x, err)
			}
			return false
		}
		after := *before
		after.Ended = true
		failed := after.write(dir)
		x, err := readOrder(dir)
		if err != nil || x == nil || x.Ended != (failed == nil) {
			t.Errorf("%+v, %v after %v", x, err, failed)
		}
		return failed == nil
	})
}
