//go:build unix

package place

import (
	"sync"
	"time"

	"meridian/internal/experiment/file"
)

// openMachines starts all hosts on other machines at the same time, and none if one fails.
func openMachines(name string, run *file.Run, start func(*file.Host) (*Seat, error)) (*Place, error) {
	p := &Place{Name: name}
	seats, failed := make([]*Seat, len(run.Hosts)), make([]error, len(run.Hosts))
	var hosts sync.WaitGroup
	for i := range run.Hosts {
		hosts.Go(func() {
			h := &run.Hosts[i]
			if seats[i], failed[i] = start(h); failed[i] != nil {
				failed[i] = &HostError{h.Name, failed[i]}
			}
		})
	}
	hosts.Wait()
	for _, s := range seats {
		if s != nil {
			p.Seats = append(p.Seats, s)
		}
	}
	for _, err := range failed {
		if err != nil {
			p.Close(time.Second)
			return nil, err
		}
	}
	if len(run.Links) > 0 {
		p.Missing = append(p.Missing, missingLinks)
	}
	return p, nil
}
