package protocol

// Spec describes a standard daemon: what a file may say about it.
type Spec struct {
	Name   string
	Doc    string // one line
	Phases []PhaseSpec
}

// PhaseSpec is a phase of a standard daemon.
type PhaseSpec struct {
	Name string
	Doc  string // one line
	With []Param
}

// Param is a parameter of a phase.
type Param struct {
	Name     string
	Doc      string // one line, with the unit
	Required bool
}

// Phase returns a phase by its name; nil if there is none.
func (s *Spec) Phase(name string) *PhaseSpec {
	for i := range s.Phases {
		if s.Phases[i].Name == name {
			return &s.Phases[i]
		}
	}
	return nil
}
