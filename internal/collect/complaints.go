package collect

import (
	"fmt"
	"sync"
	"time"
)

// complaints are lines for people about hosts. Of each host one line a second is told, with the number of those that were not.
type complaints struct {
	log func(format string, args ...any)

	mu    sync.Mutex
	hosts map[string]*complaint
}

type complaint struct {
	told   time.Time
	untold int
}

func newComplaints(log func(format string, args ...any)) *complaints {
	return &complaints{log: log, hosts: make(map[string]*complaint)}
}

// about tells a line about a host, and whether it did.
func (c *complaints) about(host, format string, args ...any) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	x := c.hosts[host]
	if x == nil {
		if len(c.hosts) >= maxAgents {
			clear(c.hosts)
		}
		x = new(complaint)
		c.hosts[host] = x
	}
	if now.Sub(x.told) < failEvery {
		x.untold++
		return false
	}
	line := host + ": " + fmt.Sprintf(format, args...)
	if x.untold > 0 {
		line += fmt.Sprintf(" (and %d times more)", x.untold)
	}
	x.told, x.untold = now, 0
	c.log("%s", line)
	return true
}
