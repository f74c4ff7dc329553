package ring

// fence keeps all loads and stores behind it behind all those before it (fence_arm64.s).
func fence()
