package arch

// trustedDecoders are decoders, or packages of them, that no fuzz target reaches, each with the reason.
var trustedDecoders = map[string]string{
	// Packages that only tests import.
	"internal/corpus":           "reads traces of other projects for tests",
	"internal/filetest":         "reads what a test has written",
	"internal/npmfile":          "unpacks files that are pinned by their checksums, for tests",
	"internal/sensortest":       "reads what a test has recorded",
	"internal/traceprocessor":   "reads what Perfetto's program says to tests",
	"sensor/internal/testtrace": "reads what a test has recorded",
	"internal/collect/disktest": "a disk of tests",

	// What the user says who starts the program.
	"cmd/meridian":                       "flags of the user who starts the command; files that they name are read by packages that are fuzzed",
	"sensor.parseRules":                  "patterns of the program itself and of its environment",
	"sensor/daemon.Here":                 "the environment that meridian run gives",
	"sensor/cmd/meridian-sensorgen.load": "a package of the user's sources, by go/packages",

	// Files and streams that are opened here and decoded by what is fuzzed.
	"format.ReadDir":                        "lists names",
	"format/chrome.Read":                    "opens the file that read decodes",
	"format/jaeger.Options.Read":            "opens the file that read decodes",
	"format/jaeger.Read":                    "opens the file that read decodes",
	"format/otlp.Options.Read":              "opens the file that read decodes",
	"format/otlp.Read":                      "opens the file that read decodes",
	"format/pcap.ReadFrom":                  "the loop of Reader.Next, which is fuzzed, around an open file",
	"internal/collect/captures.Host.Read":   "asks; the answer is of readLine and reduced.Read",
	"internal/collect/tunnel.Open":          "asks; the answer is a line that says yes or why not",
	"internal/collect/trust.ReadKey":        "opens the file that ParseKey decodes",
	"internal/collect/excerpt.readMetadata": "opens the file that ctf.ParseMetadata decodes",
	"internal/demo.readList":                "opens the file that messages.Read decodes",
	"internal/experiment/allow.Read":        "opens the file that Parse decodes",
	"internal/experiment/verdict.ReadAll":   "opens the files that Read decodes",
	"internal/pipeline.readSamples":         "opens the file that samples.Read decodes",
	"internal/pipeline/evaluate.readTruth":  "opens the file that sim.ReadTruth decodes",
	"internal/pipeline/input.readList":      "opens the file that messages.Read decodes",
	"internal/record.readMetadata":          "opens the file that ctf.ParseMetadata decodes",
	"internal/s3.FS.ReadDir":                "lists names",

	// Methods that wire.Parse calls by its interface Decompressor.
	"internal/collect.chunkReader.DecodeAll":        "FuzzChunkReader gives wire.Parse the reader, which this does not see",
	"internal/collect/fetch.uncompressed.DecodeAll": "refuses all",

	// What this program or the kernel has written.
	"internal/collect/session.Registry.read":    "a record of the server itself, of at most maxRecord bytes, by wire.Decode and Session.Check",
	"internal/collect/store.Store.ReadDocument": "returns bytes as they are",
	"internal/demo.Host":                        "what its parent process says",
	"internal/experiment/daemons.recorder.stop": "the summary of a meridian record that it started",
	"internal/experiment/place.configure":       "the answer of a process of the same program, which it started",
	"internal/experiment/verdict.Report.End":    "what its daemons said, as protocol.ParseAnswer has read it",
	"internal/experiment/verdict.Report.lose":   "what its daemons said, as protocol.ParseAnswer has read it",
	"internal/experiment/verdict.Report.lost":   "what its daemons said, as protocol.ParseAnswer has read it",
	"internal/live.Session.resume":              "part of the state that FuzzState takes up, written by this program; JSON into a struct, all of which is compared with the inputs",
	"internal/record/tracefs.parseStats":        "counters that the kernel shows to root",
	"internal/show/view.NewTimeline":            "JSON of its own within an index whose checksum holds",
	"sensor/daemon.Call.Bind":                   "JSON that readCommands has decoded, into a struct of the daemon",
}
