package file

import (
	"path/filepath"
	"slices"
	"strings"
)

// Names within the directory of a run of what the run itself writes.
const (
	ReportName    = "report.json"
	JUnitName     = "junit.xml"
	ResolvedName  = "experiment.yaml"
	TimelineName  = "timeline.html"
	AlignmentName = "alignment.report.json"
)

// outputs reads the names of further files for the timeline. A name that nothing writes, or that is taken, would cost the whole timeline
// after the run.
func (r *reader) outputs(n *node, run *Run) {
	for _, f := range r.texts(n, "outputs") {
		if !r.text(f, "outputs") {
			continue
		}
		if why := BadOutput(f.text, run.Outputs, r.o.Output); why != "" {
			r.problem(f.at, "outputs: %s", why)
		}
		run.Outputs = append(run.Outputs, f.text)
	}
}

// BadOutput says why a further output of the timeline cannot have a name; "" if it can. Others are outputs that there are beside it;
// check, which may be nil, knows the formats.
func BadOutput(name string, others []string, check func(name string) error) string {
	switch {
	case !filepath.IsLocal(name) || name == "." || strings.ContainsAny(name, "/\\"):
		return "\"" + cut(name) + "\": want a name such as timeline.plot"
	case slices.Contains([]string{ReportName, JUnitName, ResolvedName, TimelineName, AlignmentName}, name):
		return name + " is written by each run anyway: choose another name, or leave it out"
	case slices.Contains(others, name):
		return name + " is there twice"
	case check != nil:
		if err := check(name); err != nil {
			return err.Error()
		}
	}
	return ""
}
