package online

import (
	"math"
	"slices"
)

// rung is one line of the ladder. window is in ns, and at least so many intervals between exchanges.
type rung struct {
	wander    float64 // ppb/s
	window    float64
	intervals float64
}

// rungs are from quiet clocks to clocks that bend.
var rungs = [...]rung{{0.1, 100e9, 120}, {0.5, 60e9, 80}, {2, 60e9, 60}, {8, 40e9, 40}, {30, 30e9, 40}}

// Constants of the choice.
const (
	ladderStretch = 1e9  // ns: least time between two forecasts
	foretold      = 40   // stretches whose forecasts count
	minForetold   = 6    // before so many the middle line counts alone
	recent        = 8    // of these the newest stretches, by which a line is left that lags
	estimateEvery = 1e8  // ns: least time between estimates
	levelSlack    = 4.0  // mean excesses by which the lines of the greatest wanders may be wrong about the level
	recentSlack   = 0.5  // the same of the newest stretches
	recentMargin  = 1.0  // of the score, by which the newest stretches may be worse than the best line's
	minEarly      = 6    // stretches with messages before a line's edge, of one direction, that contradict the line
	minEarlyNew   = 3    // the same of the newest stretches
	noiseOfStamps = 5.0  // ns
	rungPenalty   = 0.07 // of the score, for each larger wander
	sharpness     = 20.0 // of the weights
)

// ladder averages lines of several wanders by how well each foretold.
//
// At the start of every stretch of time each line says where it goes. Of the least message each way in the stretch, the distance
// from that is kept. How the lower half of these distances scatters is the line's score: a bend and noise show, congestion does
// not. A line that lags steadily behind a bend scatters little, but its messages of one way all come early: where they do, the difference
// of both ways from that of the lines with the greatest wanders counts as scatter too.
type ladder struct {
	lines    [len(rungs)]*line
	forecast [len(rungs)]forecast
	score    [len(rungs)]float64
	until    float64 // of the stretch
	interval float64 // between exchanges, ns; bursts count as one
	began    float64 // of the latest burst
	any      bool
}

// forecast is a line at the start of the stretch, and how far the messages since were from it.
type forecast struct {
	known bool
	at    float64
	v, y  float64
	edge  [2]float64
	now   [2]float64
	past  [2][foretold]float64
	early [2][foretold]bool // whether a message was before the edge
	n     int
}

func newLadder() *ladder {
	l := &ladder{}
	l.reset()
	return l
}

func (l *ladder) reset() {
	*l = ladder{}
	for i, r := range rungs {
		l.lines[i] = newLine(r.wander, r.window)
		l.forecast[i].clear()
	}
}

func (f *forecast) clear() { f.now = [2]float64{math.Inf(1), math.Inf(1)} }

// burst is how close messages are that count as one exchange.
const burst = 0.1e9 // ns

// pace follows the interval between exchanges, on which windows and stretches depend.
func (l *ladder) pace(x float64) {
	gap := x - l.began
	if l.any && gap < burst {
		return
	}
	if l.any {
		// Quickly up, since a window with too few messages says nothing; slowly down.
		gap = min(gap, 4*max(l.interval, burst))
		l.interval += (gap - l.interval) / 4
		for i, r := range rungs {
			l.lines[i].setWindow(max(r.window, r.intervals*l.interval))
		}
	}
	l.any, l.began = true, x
}

// add takes a message: a ceiling (there) or a floor (back) at x.
func (l *ladder) add(direction int, p corner) {
	l.pace(p.x)
	if p.x >= l.until {
		l.until = p.x + max(ladderStretch, 4*l.interval)
		l.turn()
	}
	side := 1 - 2*float64(direction)
	for i, line := range l.lines {
		if f := &l.forecast[i]; f.known && p.x >= f.at {
			f.now[direction] = min(f.now[direction], side*(p.u-f.v-f.y*(p.x-f.at)))
		}
		line.add(direction, p)
	}
}

// estimate takes the lines' estimates at x, the latest message, if the last ones are old enough.
func (l *ladder) estimate(x float64) {
	for _, line := range l.lines {
		if !line.known || x-line.at >= estimateEvery {
			line.estimate(x)
		}
	}
}

// turn ends a stretch: what was foretold is kept, and every line says where it goes.
func (l *ladder) turn() {
	for i, line := range l.lines {
		f := &l.forecast[i]
		if f.known && !math.IsInf(f.now[there], 1) && !math.IsInf(f.now[back], 1) {
			for d := range 2 {
				f.past[d][f.n%foretold], f.early[d][f.n%foretold] = f.now[d], f.now[d] < f.edge[d]
			}
			f.n++
		}
		if line.known {
			f.known, f.at, f.v, f.y, f.edge = true, line.at, line.v, line.y, line.edge
		}
		f.clear()
	}
	l.rate()
}

// rate scores the lines. Of a line that messages contradict, what the newest stretches show counts where it is much worse than the best
// line's: a clock that begins to bend makes quiet lines lag long before most of the stretches that are kept are of the bend.
func (l *ladder) rate() {
	if l.forecast[0].n < minForetold {
		return
	}
	l.score = l.scores(foretold, levelSlack)
	newest := l.scores(recent, recentSlack)
	least, leastNewest := slices.Min(l.score[:]), slices.Min(newest[:])
	for i := range l.score {
		l.score[i] -= least
		if l.forecast[i].contradicted(recent, minEarlyNew) {
			l.score[i] = max(l.score[i], newest[i]-leastNewest-recentMargin)
		}
	}
}

// contradicted says whether in so many of the newest stretches a message of one direction came before the edge that the line foretold. By
// chance the least of a second does so in one of as many seconds as the line's window has.
func (f *forecast) contradicted(stretches, least int) bool {
	var n [2]int
	for k := range min(f.n, stretches) {
		for d := range 2 {
			if f.early[d][(f.n-1-k)%foretold] {
				n[d]++
			}
		}
	}
	return max(n[there], n[back]) >= least
}

// scores returns the lines' scores by the newest stretches. The lines of the greatest wanders may be wrong about the level by slack mean excesses,
// and by anything where messages do not contradict a line: where queues leave few messages near the least delay, a quiet line may rest on
// the only one in a minute. Lines of greater wanders have forgotten it, and differ because they are wrong.
func (l *ladder) scores(stretches int, slack float64) (score [len(rungs)]float64) {
	var level [len(rungs)]float64
	var scatter [len(rungs)][2]float64
	for i := range l.lines {
		for d := range 2 {
			var buffer [foretold]float64
			distances := l.forecast[i].newest(d, buffer[:stretches])
			slices.Sort(distances)
			half := len(distances)/2 + 1
			median := distances[half-1]
			sum := 0.0
			for _, r := range distances[:half] {
				sum += median - r
			}
			scatter[i][d] = sum / float64(half)
			level[i] += (0.5 - float64(d)) * (distances[half/2] + distances[(half-1)/2]) / 2
		}
	}
	const last = len(rungs) - 1
	reference, allowed, early := level[last], 0.0, minEarlyNew
	if stretches == foretold {
		reference, early = (level[last]+level[last-1])/2, minEarly
	}
	for _, density := range l.lines[last-1].density {
		if density > 0 {
			allowed = max(allowed, slack/density)
		}
	}
	for i := range l.lines {
		bias := 0.0
		if l.forecast[i].contradicted(stretches, early) {
			bias = max(math.Abs(level[i]-reference)-allowed, 0)
		}
		score[i] = rungPenalty * float64(i)
		for d := range 2 {
			score[i] += math.Log(math.Hypot(scatter[i][d], bias)+noiseOfStamps) / 2
		}
	}
	return score
}

// newest returns the distances of a direction in the newest stretches, as many as fit.
func (f *forecast) newest(direction int, buffer []float64) []float64 {
	n := min(f.n, len(buffer))
	for k := range n {
		buffer[k] = f.past[direction][(f.n-1-k)%foretold]
	}
	return buffer[:n]
}

// at returns the estimate and its rate at x.
func (l *ladder) at(x float64) (v, y float64, known bool) {
	const middle = len(rungs) / 2
	if m := l.lines[middle]; l.forecast[0].n < minForetold {
		return m.v + m.y*(x-m.at), m.y, m.known
	}
	least := slices.Min(l.score[:])
	sum := 0.0
	for i, m := range l.lines {
		w := math.Exp(-sharpness * (l.score[i] - least))
		sum += w
		v += w * (m.v + m.y*(x-m.at))
		y += w * m.y
	}
	return v / sum, y / sum, true
}

func (l *ladder) move(x, u float64) {
	for i, line := range l.lines {
		line.move(x, u)
		l.forecast[i].at -= x
		l.forecast[i].v -= u
	}
	l.until -= x
	l.began -= x
}
