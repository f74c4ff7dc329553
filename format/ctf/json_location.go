package ctf

// ranges reads [[low, high], ...]. Numbers beyond the signed ones stand for the bits of unsigned ones.
func (v *jsonValue) ranges() ([]Range, error) {
	if v == nil || v.kind != jsonArray || len(v.items) == 0 {
		return nil, v.fail("missing or empty set of ranges")
	}
	set := make([]Range, len(v.items))
	for i, r := range v.items {
		if r.kind != jsonArray || len(r.items) != 2 {
			return nil, r.fail("range is not a pair of integers")
		}
		for j, at := range []*int64{&set[i].Low, &set[i].High} {
			n, err := r.items[j].signed("range limit")
			if err != nil {
				var u uint64
				if u, err = r.items[j].unsigned("range limit"); err != nil {
					return nil, err
				}
				n = int64(u)
			}
			*at = n
		}
	}
	return set, nil
}

// located reads where a length or a selector stands: {"origin": scope, "path": [names]}, or a draft's [scope, names].
func (s *fieldClass) located(v *jsonValue, name string) error {
	at := v.member(name)
	if at == nil {
		return v.fail("%s is missing", name)
	}
	l := &fieldLocation{scope: inAnyScope, strict: true, line: at.line}
	path := at
	if at.kind == jsonObject {
		path = at.member("path")
		if o := at.member("origin"); o != nil {
			if l.scope = originOf(o.word()); l.scope == inAnyScope {
				return o.fail("unknown field location origin %.60q", o.text)
			}
		}
	}
	if path == nil || path.kind != jsonArray {
		return at.fail("%s has no path", name)
	}
	steps := path.items
	if path == at && len(steps) > 1 {
		if l.scope = originOf(steps[0].word()); l.scope != inAnyScope {
			steps = steps[1:]
		}
	}
	for _, x := range steps {
		switch {
		case x.kind == jsonText:
			l.names = append(l.names, x.text)
		case x.kind == jsonNull && len(l.names) > 0:
			l.names = l.names[:len(l.names)-1]
		case x.kind == jsonNull:
			l.up++
		default:
			return x.fail("field location path element is neither a string nor null")
		}
	}
	if len(l.names) == 0 || l.up > 0 && l.scope != inAnyScope {
		return at.fail("%s has an empty or invalid path", name)
	}
	s.location = l
	return nil
}

func originOf(name string) dynamicScope {
	switch name {
	case "packet-header":
		return inPacketHeader
	case "packet-context":
		return inPacketContext
	case "event-record-header":
		return inEventHeader
	case "event-record-common-context":
		return inStreamEventContext
	case "event-record-specific-context":
		return inEventContext
	case "event-record-payload":
		return inEventPayload
	}
	return inAnyScope
}
