package index

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

func TestSearchFindsWhatThePageFinds(t *testing.T) {
	text, err := os.ReadFile("testdata/search.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Events []struct {
			Name, Category, Host, Row string
			Fields                    [][2]string
		}
		Queries []struct {
			Q     string
			Found []int
			Error bool
		}
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Events) == 0 || len(v.Queries) < 50 {
		t.Fatalf("%d events, %d queries", len(v.Events), len(v.Queries))
	}
	for _, c := range v.Queries {
		q, err := parseQuery(c.Q)
		if (err != nil) != c.Error {
			t.Errorf("%q: error %v, wanted one: %v", c.Q, err, c.Error)
			continue
		}
		if err != nil {
			continue
		}
		got := []int{}
		for i, e := range v.Events {
			if q.matches(&found{name: e.Name, category: e.Category, host: e.Host, row: e.Row, fields: e.Fields}) {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, c.Found) {
			t.Errorf("%q finds %v, not %v", c.Q, got, c.Found)
		}
	}
}
