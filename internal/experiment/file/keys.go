package file

// key is a key of a mapping, for the decoder, its messages and the JSON schema.
type key struct {
	name, form, doc string
	required        bool
}

// Forms of values: what the JSON schema says of them. A form that is not here is the name of a table.
const (
	formText     = "text"
	formWord     = "word"
	formNumber   = "number"
	formDuration = "duration"
	formFlag     = "flag"
	formTexts    = "texts"   // a list, or one text
	formAny      = "any"     // a mapping of any values
	formAxes     = "axes"    // a mapping of lists
	formAddress  = "address" // HOST:DAEMON/PATH, twice
	formSchedule = "schedule"
	formChecks   = "checks"
	formLinks    = "links"
	formHosts    = "hosts"
	formDaemons  = "daemons"
)

// tables has the keys of each mapping of a file.
var tables = map[string][]key{
	"experiment": {
		{"name", formWord, "name of the experiment and of the directory of its results (default: of the file)", false},
		{"on", formWord, "where hosts are unless --on says otherwise: namespaces, processes, ssh, agents", false},
		{"timeout", formDuration, "of a whole run, such as 5m (default 10m)", false},
		{"vars", formAny, "values for ${name}", false},
		{"matrix", formAxes, "values for ${name}: a run for each combination", false},
		{"repeat", formNumber, "runs of each combination; ${repeat} counts from 1", false},
		{"files", formTexts, "files beside this one, copied to each host; daemons find them by the same relative path", false},
		{"hosts", formHosts, "hosts by name", true},
		{"links", formLinks, "what connects hosts in namespaces (default: all with all)", false},
		{"daemons", formDaemons, "daemons by name", true},
		{"schedule", formSchedule, "blocks, one after the other: DAEMON.PHASE, or a list of those, which start together", true},
		{"outputs", formTexts, "the timeline in other formats too: names with an ending as for 'meridian align', such as timeline.plot", false},
		{"expect", formChecks, "what must hold at the end", false},
	},
	"host": {
		{"ssh", formText, "destination for the ssh program (default: the host's name)", false},
		{"agent", formText, "name of the host at the server, for agents (default: the host's name)", false},
		{"address", formText, "address under which other hosts reach it (default: as the place knows it)", false},
		{"clock", "clock", "a wrong clock for its recorded events: a test double", false},
	},
	"clock": {
		{"ahead", formText, "how far ahead of the true one at the start, such as 3s or -20ms", false},
		{"fast", formText, "how much faster than the true one, such as 40ppm or -2.5ppm", false},
	},
	"link": {
		{"between", formTexts, "the two hosts", true},
		{"rate", formText, "such as 100Mbit or 1Gbit, each way", false},
		{"buffer", formText, "such as 64KiB: what waits for the rate before packets are dropped", false},
		{"delay", formDuration, "one way, such as 2ms", false},
		{"loss", formText, "part of packets that are dropped, such as 0.5%", false},
	},
	"daemon": {
		{"host", formWord, "where it runs", false},
		{"hosts", formTexts, "where it runs: names, or all", false},
		{"run", formTexts, "a program and its arguments: a daemon of one phase, run", false},
		{"shell", formText, "a text for sh -c instead of run", false},
		{"use", formWord, "a standard daemon instead of run", false},
		{"speaks", formFlag, "the program of run speaks the protocol: a JSON line in, a line out", false},
		{"ready", formText, "phase run has ended when a line of output has this text; the program goes on to the end", false},
		{"phases", formTexts, "phases that the program has, to be checked before anything starts", false},
		{"with", formAny, "parameters of all its phases", false},
		{"env", formAny, "environment variables", false},
		{"gather", formTexts, "files to bring back, such as out/*.log, relative to its directory", false},
	},
	"block": {
		{"block", formText, "name of the block, for reports", true},
		{"timeout", formDuration, "of each of its phases (default: of the run)", false},
		{"phases", "phases", "what starts together", true},
	},
	"phase": {
		{"phase", formText, "DAEMON.PHASE, or DAEMON for its phase run", true},
		{"on", formTexts, "hosts, of those of the daemon (default: all of them)", false},
		{"with", formAny, "parameters, beside those of the daemon", false},
		{"timeout", formDuration, "after which it has failed", false},
	},
	"check": {
		{"name", formText, "of the check, for reports", false},
		{"pair", formText, "two events, as for 'meridian convert --pair': NAME=BEGIN..END,key=FIELD,max=5ms", false},
		{"unpaired", formNumber, "of pair: begins and ends without a partner that are permitted (default 0)", false},
		{"inversions", formNumber, "messages received before they were sent, beyond the bounds: how many are permitted", false},
		{"lost", formNumber, "events that were lost in recording: how many are permitted", false},
		{"exit", formWord, "a daemon: its exit code", false},
		{"code", formNumber, "of exit (default 0)", false},
		{"equal", formAddress, "two gathered files, HOST:DAEMON/PATH, of the same bytes", false},
		{"result", formText, "DAEMON.PHASE.FIELD: a number that a phase gave as its result", false},
		{"clock", formWord, "a host: how its clock stands to that of the first host, by the alignment", false},
		{"ahead", formText, "of clock: at the start, such as 3s (default 0s)", false},
		{"fast", formText, "of clock: such as 40ppm (default 0ppm)", false},
		{"within", formDuration, "of clock: the greatest error of ahead, such as 1ms", false},
		{"min", formNumber, "of result", false},
		{"max", formNumber, "of result", false},
		{"host", formWord, "of exit and result (default: all hosts of the daemon)", false},
	},
}

// kinds are the keys of a check of which it has exactly one.
var kinds = []string{"pair", "inversions", "lost", "exit", "equal", "result", "clock"}

// PlaceNames are the values of "on".
var PlaceNames = []string{"namespaces", "processes", "ssh", "agents"}
