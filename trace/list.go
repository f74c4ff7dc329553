package trace

// List is a file of messages that somebody matched already: its hosts in order of appearance and the channels between
// them, by index into Hosts.
type List struct {
	File     string
	Hosts    []string
	Channels []Channel
}
