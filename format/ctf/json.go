package ctf

func (r *resolver) searchStrict(l *location) []target { return nil }
