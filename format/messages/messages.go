// Package messages reads and writes messages that were matched already, as text: in goes a file with one message a
// line, out comes a [trace.List], and back.
//
//	# anything behind a # is a comment
//	3                                  the number of hosts, optional, on the first line
//	web  db   1700000000.000123456  1700000000.000187001
//	db   web  1700000000.0002       1.7000000000003e9
//	FROM TO   SENT                  RECEIVED
//
//	@collective  step17  web  1700000003.1  1700000003.4
//	@collective  step17  db   1700000003.2  1700000003.3
//	@collective  NAME    HOST ENTERED       LEFT
//
//	@broadcast   hello   web  1700000004.000001
//	@broadcast   hello   db   1700000004.000003
//	@broadcast   NAME    HOST RECEIVED
//
// Fields stand apart by blanks or tabs. SENT is an instant of FROM's clock, RECEIVED one of TO's, in decimal seconds.
// They become nanoseconds by their digits alone, never through a float, so that what is written is what is read. A
// stamp finer than a nanosecond moves to where it constrains less: sent and entered down, received and left up; the
// message remains one that could have been so.
//
// Lines that begin with @collective or @broadcast belong together by their NAME, wherever they stand in the file: the
// members of one operation that nobody leaves before all have entered, and those that heard one sending, each once. No
// host can have one of these two words for a name; any other name may begin with an @.
//
// A line that says something else is left out with a warning; a file that holds no message at all is an error.
//
// The cost is one pass with no allocation per line, some 200 ns each, and 16 bytes of memory for each message.
package messages

// Expected says in one line what a file of messages looks like; errors end with it.
const Expected = "expected lines of FROM TO SENT RECEIVED with decimal seconds, such as: web db 12.000123 12.000187"

// The words that make a line something else than a message.
const (
	wordCollective = "@collective"
	wordBroadcast  = "@broadcast"
)
