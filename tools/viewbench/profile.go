package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/profiler"
	"github.com/chromedp/chromedp"
)

// profiled takes a profile of the page's code until stop, which writes it for Chromium's own tools and prints which
// functions took most by themselves.
func (b *bench) profiled(ctx context.Context, name string) (stop func() error, err error) {
	if b.profile == "" {
		return func() error { return nil }, nil
	}
	for _, command := range []cdp.Command[cdp.Empty, cdp.Empty]{profiler.Enable, profiler.Start} {
		if err := call(ctx, command, cdp.Empty{}); err != nil {
			return nil, err
		}
	}
	return func() error {
		got, err := chromedp.Call(ctx, profiler.Stop, cdp.Empty{})
		if err != nil {
			return err
		}
		text, err := json.Marshal(got.Profile)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(b.profile, name+".cpuprofile"), text, 0o644); err != nil {
			return err
		}
		self, nodes, total := map[string]int64{}, map[int64]string{}, int64(0)
		for _, n := range got.Profile.Nodes {
			nodes[n.ID] = fmt.Sprintf("%s:%d", n.CallFrame.FunctionName, n.CallFrame.LineNumber+1)
		}
		for i, id := range got.Profile.Samples {
			self[nodes[id]] += got.Profile.TimeDeltas[i]
			total += got.Profile.TimeDeltas[i]
		}
		names := slices.SortedFunc(maps.Keys(self), func(a, b string) int { return cmp.Compare(self[b], self[a]) })
		fmt.Printf("\n%s: self time, ms of %d\n", name, total/1000)
		for _, n := range names[:min(len(names), 25)] {
			fmt.Printf("  %8d  %s\n", self[n]/1000, n)
		}
		return nil
	}, nil
}
