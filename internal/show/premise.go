package show

// The kinds of premises.
const (
	ServerEnds   = "server ends before its client"
	ServerBegins = "server begins before its client ends"
	OneClock     = "one clock"
)

// Premise is what bounds rest on beside the behaviour of clocks, and how it was tested.
type Premise struct {
	Kind  string   `json:"kind"`  // what must be true: [ServerEnds], [ServerBegins], [OneClock]
	About string   `json:"about"` // in words; of one clock the attribute that names the host
	Hosts []string `json:"hosts"`
	// Messages is how many messages rest on it; of one clock, how many spans and their parents.
	Messages int64 `json:"messages"`
	// Tested is how many of them other evidence would contradict if it were false, as far as it reaches.
	Tested int64 `json:"tested"`
	// Contradicted is how many contradict it. Those are left out.
	Contradicted int64 `json:"contradicted"`
	// Alone says that no other messages bound the side that these do.
	Alone bool `json:"alone,omitempty"`
	// WeakerBoundNs is the bound of the two hosts if servers had only begun before their clients end, which bounds do
	// not rest on; null where nothing then bounds them, or it was not looked for. StrongerBoundNs is that if servers
	// had ended, where bounds rest on their having begun.
	WeakerBoundNs   *int64 `json:"weaker_bound_ns,omitempty"`
	StrongerBoundNs *int64 `json:"stronger_bound_ns,omitempty"`
}
