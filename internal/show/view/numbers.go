package view

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"meridian/internal/show/index"
)

// numberer counts what is in a stretch; an [index.Index] and a [Live] do.
type numberer interface {
	Numbers(ctx context.Context, from, to int64, wanted func(row int) bool) (*index.Numbers, error)
}

// delayer lists messages by how long they took; an [index.Index] and a [Live] do.
type delayer interface {
	Delayed(ctx context.Context, from, to int, least, most int64, n int) (*index.Delayed, error)
}

const mostDelayed = 1000 // messages in an answer

func (h *handler) messages(ctx context.Context, q url.Values) ([]byte, string, error) {
	data, ok := h.data.(delayer)
	if !ok {
		return nil, "", wrong("messages: they are not listed here")
	}
	hosts := int64(len(h.data.About().Hosts)) - 1
	of := make(map[string]int64)
	for _, p := range []struct {
		name               string
		least, most, usual int64
	}{{"from", 0, hosts, -1}, {"to", 0, hosts, -1}, {"least", -1 << 62, 1 << 62, -1 << 62}, {"most", -1 << 62, 1 << 62, 1 << 62}, {"n", 1, mostDelayed, 100}} {
		n, err := number(q, p.name, p.least, p.most, p.usual)
		if err != nil {
			return nil, "", err
		}
		of[p.name] = n
	}
	return marshalled(data.Delayed(ctx, int(of["from"]), int(of["to"]), of["least"], of["most"], int(of["n"])))
}

const maxRowList = 256 << 10 // bytes of a list of rows

func (h *handler) numbers(ctx context.Context, q url.Values) ([]byte, string, error) {
	data, ok := h.data.(numberer)
	if !ok {
		return marshalled(struct {
			Names []index.NameNumbers `json:"names"`
			Links []index.LinkNumbers `json:"links"`
			None  string              `json:"none"`
		}{[]index.NameNumbers{}, []index.LinkNumbers{}, "Numbers are not counted here."}, nil)
	}
	from, to, without, err := h.stretch(q)
	if err != nil {
		return nil, "", err
	}
	return marshalled(data.Numbers(ctx, from, to, func(row int) bool { return !without[row] }))
}

// stretch reads which stretch is asked for, and without which rows.
func (h *handler) stretch(q url.Values) (from, to int64, without map[int]bool, err error) {
	if from, err = number(q, "from", -1<<62, 1<<62, 0); err != nil {
		return 0, 0, nil, err
	}
	if to, err = number(q, "to", -1<<62, 1<<62, 1<<62); err != nil {
		return 0, 0, nil, err
	}
	without, err = rowList(q.Get("without"), len(h.data.About().Rows))
	return from, to, without, err
}

// rowList reads numbers and ranges of rows, such as 0-3,7.
func rowList(text string, rows int) (map[int]bool, error) {
	list := make(map[int]bool)
	if text == "" {
		return list, nil
	}
	if len(text) > maxRowList {
		return nil, wrong("without: want at most %d bytes", maxRowList)
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		a, err1 := strconv.Atoi(first)
		b, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || a < 0 || b < a || b >= rows {
			return nil, wrong("without: want rows from 0 to %d, such as 0-3,7, not %q", rows-1, shown(part))
		}
		for row := a; row <= b; row++ {
			list[row] = true
		}
	}
	return list, nil
}

func (h *handler) against(ctx context.Context, _ url.Values) ([]byte, string, error) {
	if data, ok := h.data.(Compared); ok {
		if c, err := data.Comparison(ctx); c != nil || err != nil {
			return marshalled(c, err)
		}
	}
	return nil, "", wrong("against: this timeline is compared with none; meridian view A --against B")
}
