//go:build !race

package viewtest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/evanw/esbuild/pkg/api"
)

// logic evaluates scripts in a tab: of a page, or of modules alone (panelBrowser.load). What they return comes as JSON.
type logic struct {
	t   *testing.T
	ctx context.Context
}

// tested are the modules that load loads; scripts know them by these names.
var tested = []string{"Time", "Elements", "Decode", "Query", "Held", "Data", "Tables", "Details", "Order", "Measure", "Relation", "Why", "Between", "Path", "Save", "History", "Search", "Violations", "Clocks", "Delays", "Chain", "Switches", "Perfetto", "Share", "Ranges", "Count", "Tally", "Help", "Ribbons", "Layout", "Idle", "Notes", "Gaps"}

// load loads the tested modules into an empty page. Every other module that they import, and App, is the global variable of
// that name, which a script sets as it needs it: App is an empty object at first.
func (b *panelBrowser) load(t *testing.T) *logic {
	t.Helper()
	code, err := testedModules()
	if err != nil {
		t.Fatal(err)
	}
	l := &logic{t, b.tab(t)}
	if err := chromedp.Do(l.ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	if !value[bool](l, "globalThis.App = {};\n"+code+"\ntrue") {
		t.Fatal("the modules did not load")
	}
	return l
}

// testedModules joins the tested modules once, with stand-ins for the others.
var testedModules = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs("../../internal/show/view/page")
	if err != nil {
		return "", err
	}
	var entry strings.Builder
	for _, name := range tested {
		fmt.Fprintf(&entry, "import * as %s from \"./%s.js\";\n", name, strings.ToLower(name))
	}
	fmt.Fprintf(&entry, "Object.assign(globalThis, { %s });\n", strings.Join(tested, ", "))
	standIns := api.Plugin{Name: "stand-ins", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: `^\./\w+\.js$`}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			file := strings.TrimSuffix(strings.TrimPrefix(args.Path, "./"), ".js")
			name := strings.ToUpper(file[:1]) + file[1:]
			if slices.Contains(tested, name) {
				return api.OnResolveResult{Path: filepath.Join(dir, file+".js")}, nil
			}
			return api.OnResolveResult{Path: name, Namespace: "stand-in"}, nil
		})
		build.OnLoad(api.OnLoadOptions{Filter: `.`, Namespace: "stand-in"}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			global := "globalThis." + args.Path
			if args.Path == "App" { // module app exports it by its name
				global = "globalThis"
			}
			// An import falls through to the prototype, and there is looked up whenever it is used.
			contents := fmt.Sprintf("module.exports = Object.create(new Proxy({}, { get: (_, key) => %s?.[key] }));", global)
			return api.OnLoadResult{Contents: &contents}, nil
		})
	}}
	result := api.Build(api.BuildOptions{
		Stdin:   &api.StdinOptions{Contents: entry.String(), ResolveDir: dir},
		Bundle:  true,
		Format:  api.FormatIIFE,
		Target:  api.ES2022,
		Charset: api.CharsetUTF8,
		Plugins: []api.Plugin{standIns},
	})
	if len(result.Errors) > 0 {
		return "", fmt.Errorf("%s: %v", result.Errors[0].Text, result.Errors[0].Location)
	}
	return string(result.OutputFiles[0].Contents), nil
})
