package messages

import (
	"meridian/clock"
	"meridian/format/internal/text"
	"meridian/trace"
)

// member adds one member of a collective, or says why it cannot and leaves the list as it was.
func (p *parser) member(name, host, entered, left []byte) error {
	e, l, exact, err := text.Interval(entered, left)
	if err != nil {
		return err
	}
	if l < e {
		return errEarly
	}
	h, err := p.grouped(name, host)
	if err != nil {
		return err
	}
	c, ok := p.collectives[string(name)]
	if !ok {
		if p.collectives == nil {
			p.collectives = make(map[string]int)
		}
		c = len(p.list.Collectives)
		p.list.Collectives = append(p.list.Collectives, trace.Collective{Name: string(name)})
		p.collectives[p.list.Collectives[c].Name] = c
	}
	collective := &p.list.Collectives[c]
	collective.Members = append(collective.Members, trace.Member{Clock: h, Entered: e, Left: l})
	if !exact {
		p.rounded.Add(p.line)
	}
	return nil
}

// reception adds one reception of a broadcast, or says why it cannot and leaves the list as it was.
func (p *parser) reception(name, host, received []byte) error {
	r, exact, err := text.Seconds(received, clock.Up)
	if err != nil {
		return err
	}
	b, known := p.broadcasts[string(name)]
	if h, ok := p.hosts[string(host)]; ok && known && p.heard[[2]int{b, h}] {
		return errTwice
	}
	h, err := p.grouped(name, host)
	if err != nil {
		return err
	}
	if !known {
		if p.broadcasts == nil {
			p.broadcasts = make(map[string]int)
			p.heard = make(map[[2]int]bool)
		}
		b = len(p.list.Broadcasts)
		p.broadcasts[string(name)] = b
		p.list.Broadcasts = append(p.list.Broadcasts, trace.Broadcast{})
	}
	p.heard[[2]int{b, h}] = true
	broadcast := &p.list.Broadcasts[b]
	broadcast.Receptions = append(broadcast.Receptions, trace.Stamp{Clock: h, Time: r})
	if !exact {
		p.rounded.Add(p.line)
	}
	return nil
}

// grouped returns the index of a host that takes part in what has a name, both having been checked.
func (p *parser) grouped(name, host []byte) (int, error) {
	if !text.ValidName(name) {
		return 0, errGroupName
	}
	h, ok := p.hosts[string(host)]
	if !ok {
		if err := checkHost(host); err != nil {
			return 0, err
		}
		h = p.newHost(host)
	}
	return h, nil
}
