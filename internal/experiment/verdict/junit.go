//go:build unix

package verdict

import (
	"encoding/xml"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Elements of JUnit's XML, as Jenkins, GitLab and GitHub's actions read it.
type (
	suite struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Time     float64    `xml:"time,attr"`
		Stamp    string     `xml:"timestamp,attr"`
		Cases    []testcase `xml:"testcase"`
	}
	testcase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Time    float64  `xml:"time,attr"`
		Failure *message `xml:"failure"`
		Error   *message `xml:"error"`
		Skipped *message `xml:"skipped"`
	}
	message struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes the run and its checks as test cases. An undecided check is skipped, as are promises that were not kept: neither is green.
func (r *Report) writeJUnit() error {
	seconds := time.Duration(r.Run.EndedNs - r.Run.BeganNs).Seconds()
	s := suite{Name: r.Name, Time: seconds, Stamp: r.Started.UTC().Format("2006-01-02T15:04:05")}
	itself := testcase{Class: r.Name, Name: "run", Time: seconds}
	if f := r.Run.Cause; f != nil {
		itself.Error = &message{clean(f.Error()), clean(strings.Join(f.Tail, "\n"))}
		s.Errors++
	}
	s.Cases = append(s.Cases, itself)
	for _, c := range r.Checks {
		t := testcase{Class: r.Name, Name: clean(c.Name)}
		switch c.Answer {
		case No:
			t.Failure = &message{Message: clean(c.Reason)}
			s.Failures++
		case Undecided:
			t.Skipped = &message{Message: "undecided: " + clean(c.Reason)}
			s.Skipped++
		}
		s.Cases = append(s.Cases, t)
	}
	if broken := slices.Concat(r.Promises, r.Problems); len(broken) > 0 { // the exit code is 3 for these
		s.Cases = append(s.Cases, testcase{Class: r.Name, Name: "promises", Skipped: &message{Message: "not kept: " + clean(strings.Join(broken, "; "))}})
		s.Skipped++
	}
	s.Tests = len(s.Cases)
	b, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return whole(filepath.Join(r.Directory, junitName), append([]byte(xml.Header), append(b, '\n')...))
}

// clean drops what XML cannot have.
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		if c == utf8.RuneError || c == '\ufffe' || c == '\uffff' || c < ' ' && c != '\n' && c != '\t' {
			return -1
		}
		return c
	}, s)
}
