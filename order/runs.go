package order

import (
	"iter"

	"meridian/clock"
)

// Run is a range of a capture's frame numbers, From up to but not including To.
type Run struct{ From, To int }

// Disorder counts the timestamps of a capture that are further behind an earlier one than a window, though the clock
// was not set back.
type Disorder struct {
	Frames int   // how many frames are out of order: that came late, or whose timestamp ran ahead of those that follow
	Most   int64 // by how much at most, ns
}

// MaxExcursion is how many frames may be out of order together where nothing but their order tells of the clock:
// timestamps that leave the others and return. Only of more is it said that the clock was set. Fewer would be explained
// as well by themselves being wrong.
const MaxExcursion = 8

// MaxLate is how late packets may come, ns. Queues hold none for longer: a timestamp that is further out of order is
// wrong.
const MaxLate = 1_000_000_000

// Runs splits a capture into ranges within which the clock was not set back by more than window, in ns. A clock was set
// back where more than excursion timestamps, at most MaxExcursion, are behind more than excursion earlier ones, and the
// later ones go on from there. Those that return at once to where the earlier ones were, as packets do that came late,
// are out of order and no new range.
//
//	set back     / / / /               late    / / / / / / /
//	            / / / /  / / / /              / / / /   / /
//	                    / / / /                      . .
//
// Times yields frame numbers, counting up from 0, with their timestamps. At most limit runs are made, since each means
// reading the file again: the last holds all that is left, in disorder. A limit below 1 is none.
func Runs(times iter.Seq2[int, clock.HostTime], window int64, excursion, limit int) ([]Run, Disorder) {
	f := runFinder{window: window, excursion: min(max(excursion, 0), MaxExcursion)}
	end := 0
	for number, t := range times {
		f.add(number, t)
		end = number + 1
	}
	starts := f.finish()
	if limit >= 1 && len(starts) > limit {
		starts = starts[:limit]
	}
	var runs []Run
	for i, from := range starts {
		to := end
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		runs = append(runs, Run{From: from, To: to})
	}
	return runs, f.disorder
}

// runFinder finds the runs while timestamps come. Its levels are the present run, and behind it what may be a later
// run, each behind the one before: until enough timestamps have come they may as well be some that came late.
type runFinder struct {
	window    int64
	excursion int
	starts    []int // of the runs that are certain
	levels    []level
	disorder  Disorder
}

// level is timestamps that follow each other within the window but for excursions.
type level struct {
	from    int
	first   clock.HostTime
	highest [MaxExcursion + 1]clock.HostTime // the highest timestamps, descending
	counted [MaxExcursion + 1]bool           // those that Disorder has
	n       int                              // how many of highest are set
	// Of a level behind another one:
	frames   int   // it has, with those of the levels behind it
	returned int   // frames since it began that were not behind the one before
	away     bool  // the last frame was one of these
	jump     int64 // by which the first of those in a row was ahead of the level, ns
	distance int64 // by which the level began behind the one before, ns, when that came
}

// firstFrames is how many frames tell where a level begins: the highest timestamp of them, since one may be too low.
const firstFrames = 3

// minShare is how many frames of a level stand against one that returned to the level before.
const minShare = 8

// maxLevels bounds the levels: a file whose timestamps run back again and again has no runs.
const maxLevels = 16

// latest returns the highest timestamp of a level but for those that may be wrong; ok is false of a level with fewer.
func (f *runFinder) latest(l *level) (t clock.HostTime, ok bool) {
	return l.highest[f.excursion], l.n > f.excursion
}

// behind reports whether a timestamp is further behind a level than the window.
func (f *runFinder) behind(l *level, t clock.HostTime) bool {
	latest, ok := f.latest(l)
	return ok && clock.Sub(latest, t) > f.window
}

func (f *runFinder) add(number int, t clock.HostTime) {
	if len(f.levels) == 0 {
		f.starts = append(f.starts, number)
		f.levels = append(f.levels, level{from: number, first: t})
	}
	for i := 1; i < len(f.levels); i++ {
		if f.behind(&f.levels[i-1], t) {
			continue
		}
		if !f.decide(i, t) { // it may be an excursion of the later level
			f.countAhead(&f.levels[i-1], t)
			f.levels[i-1].add(t)
			return
		}
		break
	}
	last := &f.levels[len(f.levels)-1]
	if f.behind(last, t) && len(f.levels) < maxLevels {
		f.levels = append(f.levels, level{from: number, first: t})
		last = &f.levels[len(f.levels)-1]
	}
	f.countAhead(last, t)
	last.add(t)
	for i := 1; i < len(f.levels); i++ {
		l := &f.levels[i]
		l.away = false
		l.frames++
		if l.frames <= firstFrames {
			l.first = max(l.first, t)
		}
	}
	for i := 1; i < len(f.levels); i++ {
		if f.confirmed(i) {
			f.begin(i)
			break
		}
	}
}

// decide takes a timestamp that is not behind the level before one. Once it is not alone it decides on the later level,
// and returns true. If the first such timestamp jumped there, those between came late. If it came there from where they
// were, the clock showed these readings twice.
func (f *runFinder) decide(i int, t clock.HostTime) bool {
	l := &f.levels[i]
	l.returned++
	if !l.away {
		l.away, l.jump, l.distance = true, clock.Sub(t, l.highest[0]), f.distance(i)
	}
	if l.returned*minShare <= l.frames {
		return false
	}
	if l.frames > f.excursion && l.jump < l.distance/2 {
		f.begin(i)
	} else {
		f.dismiss(i, l.distance)
	}
	return true
}

// distance returns how far behind the level before it a level began, ns.
func (f *runFinder) distance(i int) int64 {
	latest, _ := f.latest(&f.levels[i-1])
	return clock.Sub(latest, f.levels[i].first)
}

// confirmed reports whether so many frames are so far behind that they cannot have come late.
func (f *runFinder) confirmed(i int) bool {
	return f.levels[i].frames > f.excursion && f.distance(i) > MaxLate
}

// begin makes a level, and those before it, runs.
func (f *runFinder) begin(i int) {
	for _, l := range f.levels[1 : i+1] {
		f.starts = append(f.starts, l.from)
	}
	f.levels = append(f.levels[:0], f.levels[i:]...)
}

// dismiss counts the frames of a level, and of those behind it, as out of order.
func (f *runFinder) dismiss(i int, distance int64) {
	f.disorder.add(f.levels[i].frames, distance)
	f.levels = f.levels[:i]
}

// countAhead counts the timestamps of a level that ran ahead of one that follows, where these are too few for a clock
// that was set.
func (f *runFinder) countAhead(l *level, t clock.HostTime) {
	for k := range l.n {
		ahead := clock.Sub(l.highest[k], t)
		if ahead <= f.window {
			return
		}
		if !l.counted[k] {
			l.counted[k] = true
			f.disorder.add(1, ahead)
		}
	}
}

// finish ends the capture and returns where the runs begin. What is behind to the end is a run if it is more than an
// excursion.
func (f *runFinder) finish() []int {
	for i := 1; i < len(f.levels); i++ {
		if f.levels[i].frames <= f.excursion {
			f.dismiss(i, f.distance(i))
			break
		}
	}
	for _, l := range f.levels[min(1, len(f.levels)):] {
		f.starts = append(f.starts, l.from)
	}
	return f.starts
}

// add takes the next timestamp of a level.
func (l *level) add(t clock.HostTime) {
	counted := false
	if l.n == len(l.highest) && t >= l.highest[0] { // as most are
		copy(l.highest[1:], l.highest[:])
		copy(l.counted[1:], l.counted[:])
		l.highest[0], l.counted[0] = t, false
		return
	}
	for k := range l.n {
		if t > l.highest[k] {
			l.highest[k], t = t, l.highest[k]
			l.counted[k], counted = counted, l.counted[k]
		}
	}
	if l.n < len(l.highest) {
		l.highest[l.n], l.counted[l.n] = t, counted
		l.n++
	}
}

// add counts frames that are out of order.
func (d *Disorder) add(frames int, by int64) {
	d.Frames += frames
	d.Most = max(d.Most, by)
}

// Sum returns the disorder of both.
func (d Disorder) Sum(o Disorder) Disorder {
	return Disorder{Frames: d.Frames + o.Frames, Most: max(d.Most, o.Most)}
}
