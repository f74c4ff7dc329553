package netstate

import (
	"fmt"
	"net/netip"
	"reflect"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"meridian/internal/testseed"
	"meridian/trace"
)

func prefix(n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}), 24)
}

// replay brings a state forward by the changes alone, as whoever reads the trace must.
func replay(t *rapid.T, known map[int]Interface, changes []Change) {
	for _, c := range changes {
		i, there := known[c.Interface.Index]
		switch c.Kind {
		case Added:
			if there || len(c.Interface.Addresses) > 0 {
				t.Fatalf("%v of %+v, which is known as %+v", c.Kind, c.Interface, i)
			}
		case Removed:
			if !there || len(i.Addresses) > 0 {
				t.Fatalf("%v of %+v, known as %+v", c.Kind, c.Interface, i)
			}
			delete(known, c.Interface.Index)
			continue
		case Changed:
			if i.alike(&c.Interface) {
				t.Fatalf("nothing changed: %+v", i)
			}
		case AddressAdded:
			i.Addresses = append(i.Addresses, c.Address)
		case AddressRemoved:
			kept := []netip.Prefix(nil)
			for _, p := range i.Addresses {
				if p != c.Address {
					kept = append(kept, p)
				}
			}
			if len(kept) != len(i.Addresses)-1 {
				t.Fatalf("%v removed, known are %v", c.Address, i.Addresses)
			}
			i.Addresses = kept
		}
		if c.Kind != Added && !there || c.Kind != Changed && fmt.Sprint(i.Addresses) != fmt.Sprint(c.Interface.Addresses) {
			t.Fatalf("%v: %+v, replayed %+v", c.Kind, c.Interface, i)
		}
		known[c.Interface.Index] = c.Interface
	}
}

func TestChangesAloneLeadFromAnyStateToAnyOther(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		s := state{interfaces: make(map[int]*Interface)}
		known := make(map[int]Interface)
		for range rapid.IntRange(1, 40).Draw(t, "messages") {
			index := rapid.IntRange(1, 3).Draw(t, "index")
			p := prefix(rapid.IntRange(1, 3).Draw(t, "address"))
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				s.link(Interface{Index: index, Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), MTU: rapid.IntRange(1, 2).Draw(t, "mtu")})
			case 1:
				s.unlink(index)
			case 2:
				s.address(index, p)
			case 3:
				s.drop(index, p)
			case 4: // messages were lost: everything is listed
				var all []Interface
				for index := 1; index <= 3; index++ {
					if rapid.Bool().Draw(t, "there") {
						i := Interface{Index: index, Name: "c"}
						for n := range rapid.IntRange(0, 3).Draw(t, "addresses") {
							i.Addresses = append(i.Addresses, prefix(n))
						}
						all = append(all, i)
					}
				}
				s.become(all)
				if got := s.snapshot(); len(got) != len(all) {
					t.Fatalf("%+v became %+v", all, got)
				}
			}
			replay(t, known, s.changes)
			s.changes = nil
		}
		now := s.snapshot()
		if len(now) != len(known) {
			t.Fatalf("replayed %v, is %v", known, now)
		}
		for _, i := range now {
			if k := known[i.Index]; !reflect.DeepEqual(k.String(), i.String()) {
				t.Fatalf("replayed %v, is %v", k, i)
			}
		}
	})
}

func (i Interface) String() string {
	return fmt.Sprint(i.Index, i.Name, i.MTU, i.Up, i.Running, i.Addresses)
}

func TestValuesFitTheirClass(t *testing.T) {
	for _, p := range []netip.Prefix{{}, prefix(7), netip.MustParsePrefix("fe80::1/64")} {
		c := Change{Kind: AddressAdded, Interface: Interface{Index: 3, Name: "eth0", MTU: 1500, Up: true}, Address: p, Stamp: Stamp{Realtime: 42}}
		class := Classes()[c.Class()]
		values := c.Values(nil)
		if class.Name != StateName || len(values) != len(class.Fields) {
			t.Fatalf("%s has %d fields, %d values", class.Name, len(class.Fields), len(values))
		}
		for i, f := range class.Fields {
			if values[i].Kind != f.Type.Kind {
				t.Errorf("%s is %v, not %v", f.Name, values[i].Kind, f.Type.Kind)
			}
		}
		if want := map[string]uint64{"10.0.0.7/24": 0x0a000007}[string(values[2].Data)]; values[1].Uint() != want {
			t.Errorf("%s as address_ipv4: %#x, want %#x", values[2].Data, values[1].Uint(), want)
		}
		if got := string(values[3].Append(nil, &class.Fields[3].Type)); got != "address_added" {
			t.Errorf("change is %q", got)
		}
	}
	c := Change{}
	if got := Classes()[c.Class()].Name; got != StateDump {
		t.Errorf("what was present is %s", got)
	}
	var _ []trace.Class = Classes()
}

func FuzzMessages(f *testing.F) {
	f.Add(uint16(16), []byte("\x00\x00\x01\x00\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x09\x00\x03\x00eth0\x00\x00\x00\x00"))
	f.Add(uint16(20), []byte("\x02\x18\x00\x00\x02\x00\x00\x00\x08\x00\x01\x00\x0a\x00\x00\x01"))
	f.Add(uint16(21), []byte("\x02\x18\x00\x00\x02\x00\x00\x00\x08\x00\x02\x00\x0a\x00\x00\x01"))
	testseed.Fuzz(f, func(t *testing.T, kind uint16, data []byte) {
		s := state{interfaces: make(map[int]*Interface)}
		s.link(Interface{Index: 2, Name: "x"})
		s.apply(&syscall.NetlinkMessage{Header: syscall.NlMsghdr{Type: kind}, Data: data})
		for _, i := range s.snapshot() {
			if i.Name == "" {
				t.Errorf("an interface without a name: %+v", i)
			}
		}
	})
}

// Where interfaces change faster than the kernel lists them, the state is asked for again when the next message comes.
func TestAListThatIsNeverWholeEndsNothing(t *testing.T) {
	eth := Interface{Index: 2, Name: "eth0"}
	answers := []error{errRestless, errRestless, nil}
	w := &Watcher{state: state{interfaces: make(map[int]*Interface)}}
	w.listing = func() ([]Interface, error) {
		err := answers[0]
		if answers = answers[1:]; err != nil {
			return nil, err
		}
		return []Interface{eth}, nil
	}
	var told []Kind
	for _, failed := range []error{unix.ENOBUFS, nil, unix.EINTR, nil, nil} {
		if err := w.take(0, failed, func(c *Change) error { told = append(told, c.Kind); return nil }); err != nil {
			t.Fatalf("%v: %v", failed, err)
		}
	}
	if len(told) != 1 || told[0] != Added || w.Lost() != 1 || len(answers) > 0 {
		t.Errorf("told %v, lost %d, %d answers are left", told, w.Lost(), len(answers))
	}
	w.listing = func() ([]Interface, error) { return nil, unix.EBADF }
	if err := w.take(0, unix.ENOBUFS, nil); err != unix.EBADF {
		t.Error(err)
	}
}
