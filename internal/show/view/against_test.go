package view

import (
	"context"
	"testing"

	"meridian/internal/show/index/indextest"
)

func TestWhatWasPlantedIsWhatDiffers(t *testing.T) {
	t.Parallel()
	before := shop(t)
	after, err := NewTimeline(indextest.ShopAfter(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	if c, err := before.Comparison(context.Background()); c != nil || err != nil {
		t.Errorf("compared with none: %v, %v", c, err)
	}
	before.Against(after, "monday", "tuesday")
	c, err := before.Comparison(context.Background())
	if err != nil || c.A != "monday" || c.B != "tuesday" || c.Left != 0 || before.About().Against != "tuesday" {
		t.Fatalf("%+v, %v", c, err)
	}
	// The query takes longer, and all that waits for it; rendering does not, and the way is longer by less than the bounds tell.
	want := map[What]bool{
		{"slice", "query", "db", ""}: true, {"slice", "SELECT", "cart", ""}: true, {"slice", "cart", "cart", ""}: true, {"slice", "GET /cart", "client", ""}: true, {"slice", "render", "cart", ""}: false,
		{"request", "GET /cart", "client", "cart"}: true, {"request", "SELECT", "cart", "db"}: true,
		{"message", "", "client", "cart"}: false, {"message", "", "cart", "client"}: false, {"message", "", "cart", "db"}: false, {"message", "", "db", "cart"}: false,
	}
	if len(c.Rows) != len(want) {
		t.Errorf("%d rows, want %d: %+v", len(c.Rows), len(want), c.Rows)
	}
	for _, r := range c.Rows {
		if differs, known := want[r.What]; !known || r.Differs == nil || *r.Differs != differs || r.A.Count != indextest.ShopRequests || r.B.Count != indextest.ShopRequests {
			t.Errorf("%+v; want differs %v", r, differs)
		}
	}
	if r := c.Rows[0]; r.Name != "query" || r.Change[0] < 0.4 || r.Change[0] > 0.56 || r.Change[1] < 0.3 || r.Change[1] > r.Change[0] {
		t.Errorf("first is %+v, want the query: 400 us longer than 800 to 890", r)
	}
	for _, r := range c.Rows {
		// 200 to 210 us before, 30 more after; each off by up to 50 us and a step of the stamps.
		if r.Kind == "message" && r.Host == "client" && (r.A.Low > 151_000 || r.A.High < 259_000 || r.B.Median-r.A.Median < 20_000 || r.B.Median-r.A.Median > 40_000) {
			t.Errorf("the way to the cart: %+v", r)
		}
	}
	if len(c.Only) != 1 || c.Only[0] != (OnlyIn{What{"slice", "audit", "db", ""}, "b", indextest.ShopRequests}) {
		t.Errorf("only one has %+v", c.Only)
	}
}

func TestHostsThatNothingConnectsAreNotCompared(t *testing.T) {
	t.Parallel()
	a, b := shop(t), shop(t)
	a.report.Hosts = append(a.report.Hosts, a.About().Hosts[0].HostReport, a.About().Hosts[1].HostReport)
	a.report.Hosts[1].Component = 1
	a.Against(b, "a", "b")
	c, err := a.Comparison(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	open := 0
	for _, r := range c.Rows {
		if r.Kind == "message" && (r.Host == "client") != (r.To == "client") {
			if open++; r.Differs != nil {
				t.Errorf("%+v is decided", r)
			}
		} else if r.Differs != nil && *r.Differs {
			t.Errorf("%+v differs from itself", r)
		}
	}
	if open != 2 {
		t.Errorf("%d links to the client, want 2", open)
	}
}
