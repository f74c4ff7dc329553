package view

import (
	"context"
	"encoding/json"
	"net/url"

	"meridian/internal/show"
)

func (h *handler) requests(_ context.Context, q url.Values) ([]byte, string, error) {
	data, ok := h.data.(Requests)
	if !ok {
		return marshalled(&RequestList{Requests: []Request{}, Groups: []RequestGroup{}, None: "Requests are not listed here."}, nil)
	}
	r := RequestQuery{Sort: q.Get("sort"), Text: q.Get("q")}
	err := r.Check()
	if err != nil {
		return nil, "", wrong("%v", err)
	}
	if r.From, err = number(q, "from", -1<<62, 1<<62, 0); err != nil {
		return nil, "", err
	}
	if r.To, err = number(q, "to", -1<<62, 1<<62, 0); err != nil {
		return nil, "", err
	}
	most, err := number(q, "n", 1, mostRequests, usualRequests)
	if err != nil {
		return nil, "", err
	}
	r.Most = int(most)
	return marshalled(data.Requests(r))
}

func (h *handler) path(_ context.Context, q url.Values) ([]byte, string, error) {
	data, ok := h.data.(Requests)
	if !ok {
		return nil, "", wrong("path: no requests are listed here")
	}
	if q.Has("from") || q.Has("to") {
		from, err := number(q, "from", 0, 1<<62, -1)
		if err != nil {
			return nil, "", err
		}
		to, err := number(q, "to", 0, 1<<62, -1)
		if err != nil {
			return nil, "", err
		}
		return marshalled(data.PathBetween(from, to))
	}
	request, err := number(q, "request", -1, 1<<31, -1)
	if err != nil {
		return nil, "", err
	}
	if q.Has("event") || q.Has("last") {
		event, err := number(q, "event", 0, 1<<62, -1)
		if err != nil {
			return nil, "", err
		}
		last, err := number(q, "last", -1, 1<<62, -1)
		if err != nil {
			return nil, "", err
		}
		return marshalled(data.PathOf(int(request), event, last))
	}
	return marshalled(data.Path(int(request)))
}

const (
	maxRequests  = 300 // the slowest, in one file
	maxPaths     = 40  // of these, with their paths
	requestShare = 8   // of a file's budget at most one part of so many
)

// requestsInFile is the element "requests" of one file.
type requestsInFile struct {
	*RequestList
	Paths map[int]*Path `json:"paths"`
}

// requests writes the slowest requests, and the paths of some of them.
func (f *file) requests() error {
	data, ok := f.data.(Requests)
	if !ok {
		return nil
	}
	list, err := data.Requests(RequestQuery{Most: maxRequests})
	if err != nil || list.Count == 0 {
		return err
	}
	in := requestsInFile{RequestList: list, Paths: make(map[int]*Path)}
	room := f.left / requestShare
	for i := range min(maxPaths, len(list.Requests)) {
		id := list.Requests[i].ID
		p, err := data.Path(id)
		if err != nil {
			return err
		}
		text, err := json.Marshal(p)
		if err != nil {
			return err
		}
		if room -= int64(len(text)) / 4; room < 0 { // as it is packed
			break
		}
		in.Paths[id] = p
	}
	if n := len(list.Requests); n < list.Count {
		f.missing("The list of requests has the slowest %s of %s%s", show.Count(int64(n)), show.Count(int64(list.Count)), moreIn)
	}
	return f.json("requests", in)
}
