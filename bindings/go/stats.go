package librl

// What a limiter tells about itself: its numbers, and the rule for a request.

// #include "shim.h"
import "C"

import "bytes"

// Stats says what a limiter has done since it was made, and what it holds now; with a shared
// zone, the sum over all its processes.
type Stats struct {
	// Requests allowed and refused, and calls that ended in an error. Peek and Charge are not
	// counted.
	Allowed, Denied, Errors uint64
	// Live counters, and how many there is room for.
	Keys, Capacity uint64
	// Counters whose place was taken when they were as good as new.
	EvictedIdle uint64
	// Counters forgotten while they still counted. If this rises, raise the setting memory.
	EvictedLive uint64
	// Requests that found no room for a counter.
	RefusedFull uint64
	// Locks taken over from a process that died while it wrote.
	RecoveredLocks uint64
	// Bytes of memory that the counters may take.
	MemoryBytes uint64
	// Entries in the logs of sliding windows, and how many there is room for.
	LogEntries, LogCapacity uint64
}

// Stats are right each by itself; together they are no snapshot while checks go on.
func (l *Limiter) Stats() (Stats, error) {
	c := C.rl_stats{size: C.sizeof_rl_stats}
	err := l.with(func() error { return errorOf(C.rl_service_stats(l.c(), &c), nil) })
	return Stats{
		Allowed:        uint64(c.allowed),
		Denied:         uint64(c.denied),
		Errors:         uint64(c.errors),
		Keys:           uint64(c.keys),
		Capacity:       uint64(c.capacity),
		EvictedIdle:    uint64(c.evicted_idle),
		EvictedLive:    uint64(c.evicted_live),
		RefusedFull:    uint64(c.refused_full),
		RecoveredLocks: uint64(c.recovered_locks),
		MemoryBytes:    uint64(c.memory_bytes),
		LogEntries:     uint64(c.log_entries),
		LogCapacity:    uint64(c.log_capacity),
	}, err
}

// Prometheus is the same as text, to be sent as "text/plain; version=0.0.4".
func (l *Limiter) Prometheus() (string, error) {
	return l.text(4096, func(buf *C.char, size C.size_t) C.rl_status {
		return C.rl_stats_prometheus(l.c(), buf, size, nil)
	})
}

// Explain is the rule that applies to a user and an API, as the line of text that makes it;
// with match = all a line for each rule that applies, the most specific first.
func (l *Limiter) Explain(user, api string) (string, error) {
	return l.text(1024, func(buf *C.char, size C.size_t) C.rl_status {
		return C.shim_explain(l.service, user, api, buf, size)
	})
}

// The longest text has four lines, each with two names of 65,535 bytes, escaped.
const longestText = 1 << 22

// text is what a call writes into a buffer of some size, or of one that is large enough.
func (l *Limiter) text(size int, write func(*C.char, C.size_t) C.rl_status) (string, error) {
	var text string
	err := l.with(func() error {
		for ; ; size *= 2 {
			buf := make([]byte, size)
			status := write(charsOf(buf), C.size_t(size))
			if status == C.RL_ERR_MEMORY && size < longestText {
				continue
			}
			text = string(buf[:bytes.IndexByte(buf, 0)])
			return errorOf(status, nil)
		}
	})
	return text, err
}
