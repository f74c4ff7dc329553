package kernel

// ByFunctions has sockets recorded as on kernels without their tracepoints.
func (o *Options) ByFunctions() { o.byFunctions = true }
