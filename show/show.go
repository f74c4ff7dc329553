// Package show hands the result to people: in goes what alignment found, out come a report, a table and a page.
//
//	Report    --> Write     report.json, for programs
//	          --> Table     what meridian align prints, for a terminal
//	Timeline  --> WritePage one HTML file: a row per clock, its events as marks, messages as arrows, bounds everywhere
//
// A [Report] holds the numbers. A [Timeline] adds the events, as iterators that are run several times, so that ten
// million of them never lie in memory here.
//
// The page is one self-contained file that works from a disk, offline. It never shows an instant without saying how
// sure it is: the band around the cursor in each row, the interval of a measured span, the interval of each message's
// delay. What is too much to embed is counted and drawn as density, and the page says so:
//
//	T0                                                                    T1
//	|####exact####|..........density, to 2^16 steps ..........|##|......|    ## around the worst inversions
//
// First a survey counts events and messages in equal steps of the span (see survey); then windows are chosen in which
// every event and message is embedded (see choose); then columns of delta varints, deflated and in base64, carry both
// to the page (see columns), whose code under page/ draws any zoom from sorted columns and running sums.
//
// Below, the clocks themselves over time (see gallery): a dozen hosts and pairs at most, as pictures of some 60 kB drawn
// from the maps and a selection of the messages, which the page unpacks when somebody opens them.
//
// The cost is two to some ten passes over the events, some 30 ns each, and memory for what is embedded: at most 300,000
// events and as many messages, their descriptions, and two million counters.
package show
