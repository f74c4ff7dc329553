package ring

// fence keeps stores behind stores and loads behind loads (not loads behind stores): here the processor does it by itself.
// The call remains so that the compiler keeps the order too.
//
//go:noinline
func fence() {}
