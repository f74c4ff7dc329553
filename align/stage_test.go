package align_test

import (
	"context"
	"testing"

	"meridian/align"
)

func TestAZeroValueIsNoStage(t *testing.T) {
	ctx := context.Background()
	for name, run := range map[string]func() error{
		"Estimated.Place":     func() error { _, err := new(align.Estimated).Place(ctx); return err },
		"nil Estimated.Place": func() error { _, err := (*align.Estimated)(nil).Place(ctx); return err },
		"Placed.Bound":        func() error { _, err := new(align.Placed).Bound(); return err },
		"Bounded.Order":       func() error { _, err := new(align.Bounded).Order(ctx); return err },
		"Ordered.Reconsider":  func() error { _, err := new(align.Ordered).Reconsider(ctx); return err },
		"Ordered.Solution":    func() error { _, err := new(align.Ordered).Solution(ctx); return err },
	} {
		if run() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
