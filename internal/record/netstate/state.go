package netstate

import (
	"net/netip"
	"slices"
)

// state is what is known of the interfaces. Its methods take what the kernel says is so and append to changes what is new,
// without stamps.
type state struct {
	interfaces map[int]*Interface
	changes    []Change
}

func (s *state) tell(kind Kind, i *Interface, address netip.Prefix) {
	s.changes = append(s.changes, Change{Kind: kind, Interface: i.clone(), Address: address})
}

// link says that an interface is as i describes it, but for its addresses.
func (s *state) link(i Interface) {
	i.Addresses = nil
	known := s.interfaces[i.Index]
	switch {
	case known == nil:
		s.interfaces[i.Index] = &i
		s.tell(Added, &i, netip.Prefix{})
	case !known.alike(&i):
		i.Addresses = known.Addresses
		s.interfaces[i.Index] = &i
		s.tell(Changed, &i, netip.Prefix{})
	}
}

// unlink says that an interface is gone, and so are its addresses.
func (s *state) unlink(index int) {
	i := s.interfaces[index]
	if i == nil {
		return
	}
	for len(i.Addresses) > 0 {
		s.drop(index, i.Addresses[0])
	}
	s.tell(Removed, i, netip.Prefix{})
	delete(s.interfaces, index)
}

// address says that an interface has an address. Of an interface that is not known nothing is told: its removal was heard, and
// this is older.
func (s *state) address(index int, p netip.Prefix) {
	i := s.interfaces[index]
	if i == nil || slices.Contains(i.Addresses, p) {
		return
	}
	i.Addresses = append(i.Addresses, p)
	s.tell(AddressAdded, i, p)
}

// drop says that it has it no longer.
func (s *state) drop(index int, p netip.Prefix) {
	i := s.interfaces[index]
	if i == nil {
		return
	}
	if at := slices.Index(i.Addresses, p); at >= 0 {
		i.Addresses = slices.Delete(i.Addresses, at, at+1)
		s.tell(AddressRemoved, i, p)
	}
}

// become makes the state that of a complete list: what is not in it is gone, since messages were lost that would have said so.
func (s *state) become(all []Interface) {
	whole := make(map[int]*Interface, len(all))
	for i := range all {
		whole[all[i].Index] = &all[i]
	}
	for _, index := range s.indices() {
		if whole[index] == nil {
			s.unlink(index)
		}
	}
	for _, i := range all {
		s.link(i)
		for _, p := range slices.Clone(s.interfaces[i.Index].Addresses) {
			if !slices.Contains(i.Addresses, p) {
				s.drop(i.Index, p)
			}
		}
		for _, p := range i.Addresses {
			s.address(i.Index, p)
		}
	}
}

func (s *state) indices() []int {
	var list []int
	for index := range s.interfaces {
		list = append(list, index)
	}
	slices.Sort(list)
	return list
}

// snapshot returns copies of all interfaces, in the order of their indices.
func (s *state) snapshot() []Interface {
	var list []Interface
	for _, index := range s.indices() {
		list = append(list, s.interfaces[index].clone())
	}
	return list
}
