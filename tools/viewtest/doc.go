// Package viewtest tests the page of package view in a Chromium (package chromium): served and as one file, by what is seen
// of it, by mouse, wheel and keys, and by what its modules compute. It is all tests.
//
// All tests share one browser, each in a tab of its own. Without a Chromium they are skipped, except in CI. Under the race
// detector there is nothing to be found here that the tests of package view do not run.
package viewtest
