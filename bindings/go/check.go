package librl

// The calls that ask about one user and one API. Those that a server makes for each request
// are written out: a closure for each would be allocated.

// #include "shim.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Allow says whether this user may call this API once now. If so, one unit of the quota is
// taken; a refusal takes nothing. On any error, as of a name longer than 65,535 bytes or
// after Close, it says no.
func (l *Limiter) Allow(user, api string) bool {
	lane := l.gate.enter()
	if lane == nil {
		return false
	}
	allowed := C.shim_allow(l.service, user, api)
	lane.leave()
	runtime.KeepAlive(l)
	return bool(allowed)
}

// Check is Allow with an answer that tells more: what is left, and when to try again.
func (l *Limiter) Check(user, api string) (Decision, error) {
	return l.CheckN(user, api, 1)
}

// CheckN takes cost units at once, at least 1, if all of them are there, and else none. With
// an error, the decision is a refusal.
//
// Names may hold any bytes, and have up to 65,535. They are not copied, and the call
// allocates nothing.
func (l *Limiter) CheckN(user, api string, cost uint64) (Decision, error) {
	lane := l.gate.enter()
	if lane == nil {
		return Decision{}, ErrClosed
	}
	answer := C.shim_check(l.service, user, api, C.uint64_t(cost))
	lane.leave()
	runtime.KeepAlive(l)
	return answered(&answer)
}

// CheckBytes is CheckN for names as bytes, which nobody may write to during the call. They
// are not copied either.
func (l *Limiter) CheckBytes(user, api []byte, cost uint64) (Decision, error) {
	return l.CheckN(view(user), view(api), cost)
}

// view is the bytes as a string, which must not outlive the call that it is for.
func view(bytes []byte) string {
	return *(*string)(unsafe.Pointer(&bytes))
}

// Peek says what CheckN would answer now, and takes nothing.
func (l *Limiter) Peek(user, api string, cost uint64) (Decision, error) {
	lane := l.gate.enter()
	if lane == nil {
		return Decision{}, ErrClosed
	}
	answer := C.shim_peek(l.service, user, api, C.uint64_t(cost))
	lane.leave()
	runtime.KeepAlive(l)
	return answered(&answer)
}

// Charge takes the cost whatever the answer, for a cost that is known only afterwards, such
// as the bytes of a response. The decision says whether it went over a limit, and its
// RetryAfter when a cost of 1 passes again.
func (l *Limiter) Charge(user, api string, cost uint64) (Decision, error) {
	lane := l.gate.enter()
	if lane == nil {
		return Decision{}, ErrClosed
	}
	answer := C.shim_charge(l.service, user, api, C.uint64_t(cost))
	lane.leave()
	runtime.KeepAlive(l)
	return answered(&answer)
}

// Refund gives the cost back of a request that was allowed and then came to nothing. A limit
// is never more than full afterwards.
func (l *Limiter) Refund(user, api string, cost uint64) error {
	defer l.changed.send()
	return l.with(func() error {
		return errorOf(C.shim_refund(l.service, user, api, C.uint64_t(cost)), nil)
	})
}

// Reset forgets the counters that are this pair's own: its next request meets full limits.
// Counters that it shares with others (per=user, per=api, per=all) stay as they are.
func (l *Limiter) Reset(user, api string) error {
	defer l.changed.send()
	return l.with(func() error {
		return errorOf(C.shim_reset(l.service, user, api), nil)
	})
}
