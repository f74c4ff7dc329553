package main

import "testing"

func TestABuildNamesItsCommitOrSaysThatItIsUnknown(t *testing.T) {
	for want, b := range map[string]build{
		"v0.1.0 commit unknown go1.26.0 linux/arm64":                 {Version: "v0.1.0"},
		"(devel) commit 0123456789ab go1.26.0 linux/arm64":           {Version: "(devel)", Commit: "0123456789abcdef"},
		"v0.1.0 commit 0123456789ab (modified) go1.26.0 linux/arm64": {Version: "v0.1.0", Commit: "0123456789abcdef", Modified: true},
	} {
		b.Go, b.Platform = "go1.26.0", "linux/arm64"
		if got := b.String(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
