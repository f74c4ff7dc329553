package sensor

import (
	"strings"
	"sync/atomic"
)

// rule switches the classes of a pattern.
type rule struct {
	pattern string
	on      bool
}

// rules are applied in their order to each class: the last that fits it decides. What none fits is left to those of the
// recording, by Options.Events or the environment, which end with it. Guarded by classes' mutex.
var rules, startRules []rule

// Enable switches events on, by patterns between commas: "http:request_done", "http:*", "http" for all of the category,
// "*:error*"; "*" stands for any text and "?" for one character. A "!" before one switches off. It holds for classes that
// will be declared too, and before Start.
func Enable(patterns string) { setRules(patterns, true) }

// Disable switches events off; a "!" before a pattern switches on.
func Disable(patterns string) { setRules(patterns, false) }

func setRules(patterns string, on bool) {
	classes.Lock()
	defer classes.Unlock()
	add := parseRules(patterns, on)
	rules = append(rules, add...)
	if r := running.Load(); r != nil {
		for _, c := range classes.all {
			if on, said := decide(add, c); said {
				c.set(on)
			}
		}
	}
}

// decide says what rules have to say of a class.
func decide(rules []rule, c *class) (on, said bool) {
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].fits(c.category, c.name) {
			return rules[i].on, true
		}
	}
	return true, false
}

// initially says whether a class is on by the rules so far. The mutex of classes is held.
func initially(c *class) bool {
	on, said := decide(rules, c)
	if !said {
		on, _ = decide(startRules, c)
	}
	return on
}

// set turns the switch in the ring.
func (c *class) set(on bool) {
	if s := c.where(); s != &off {
		v := uint32(0)
		if on {
			v = 1
		}
		atomic.StoreUint32(s, v)
	}
}

func parseRules(patterns string, on bool) []rule {
	var list []rule
	for p := range strings.SplitSeq(patterns, ",") {
		p = strings.TrimSpace(p)
		but := strings.HasPrefix(p, "!")
		if p = strings.TrimPrefix(p, "!"); p != "" {
			list = append(list, rule{p, on != but})
		}
	}
	return list
}

// environmentRules are those of MERIDIAN_EVENTS: what it does not name is off, unless it begins with what is off.
func environmentRules(value string) []rule {
	list := parseRules(value, true)
	if len(list) > 0 && list[0].on {
		list = append([]rule{{"*", false}}, list...)
	}
	return list
}

// fits says whether the pattern names a class: all of a category if it has no colon.
func (r *rule) fits(category, name string) bool {
	pattern, rest, both := strings.Cut(r.pattern, ":")
	return matches(pattern, category) && (!both || matches(rest, name))
}

// matches is a comparison with "*" and "?" that never goes back further than to the last "*".
func matches(pattern, s string) bool {
	i, k, star, from := 0, 0, -1, 0
	for k < len(s) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, from = i, k
			i++
		case i < len(pattern) && (pattern[i] == '?' || pattern[i] == s[k]):
			i++
			k++
		case star >= 0:
			from++
			i, k = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}
