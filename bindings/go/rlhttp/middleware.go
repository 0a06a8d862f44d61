// Package rlhttp limits the requests that a server of net/http answers.
//
//	limit := rlhttp.Middleware{Limiter: limiter}
//	http.ListenAndServe(address, limit.Handler(mux))
//
// A request that may not go on is answered with 429 Too Many Requests and Retry-After. All
// answers have the fields that tell of the limit.
package rlhttp

import (
	"errors"
	"net/http"
	"strings"

	"librl"
)

// A Middleware is what stands before handlers. Only Limiter must be set. It must not be
// changed while it is in use; any number of requests may be at it at the same time.
type Middleware struct {
	Limiter *librl.Limiter
	// Who asks, and what for. Without one it is ByAddress.
	Key func(*http.Request) (user, api string)
	// Units that a request takes, at least 1. Without one it is 1.
	Cost func(*http.Request) uint64
	// The fields that tell of the limit: Draft where nothing is said.
	Headers Headers
	// Answers a request that is refused. The fields are set already. Without one it is
	// TooManyRequests.
	Refused http.Handler
	// Answers a request that could not be checked: a name is longer than 65,535 bytes, the cost
	// is 0, or the limiter is closed. It may call next, to let it pass. Without one the answer
	// is 400 Bad Request where the request is to blame, else 503 Service Unavailable.
	Failed func(w http.ResponseWriter, r *http.Request, err error, next http.Handler)
}

// Headers says which fields go into an answer.
type Headers int

const (
	// Draft: RateLimit-Policy and RateLimit, as the IETF has drafted them.
	Draft Headers = iota
	// Legacy: X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset.
	Legacy
	// RetryAfter: nothing but Retry-After, which the others have too, in a refusal.
	RetryAfter
)

// Handler is next behind the limiter.
func (m Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		decision, err := m.check(r)
		if err != nil {
			m.failed(w, r, err, next)
			return
		}
		m.Headers.set(w.Header(), &decision)
		if !decision.Allowed {
			m.refused().ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (m *Middleware) check(r *http.Request) (librl.Decision, error) {
	key, cost := ByAddress, uint64(1)
	if m.Key != nil {
		key = m.Key
	}
	if m.Cost != nil {
		cost = m.Cost(r)
	}
	user, api := key(r)
	return m.Limiter.CheckN(user, api, cost)
}

func (m *Middleware) refused() http.Handler {
	if m.Refused != nil {
		return m.Refused
	}
	return http.HandlerFunc(TooManyRequests)
}

func (m *Middleware) failed(w http.ResponseWriter, r *http.Request, err error, next http.Handler) {
	if m.Failed != nil {
		m.Failed(w, r, err, next)
		return
	}
	status := http.StatusServiceUnavailable
	if errors.Is(err, librl.ErrArgument) {
		status = http.StatusBadRequest
	}
	http.Error(w, http.StatusText(status), status)
}

// TooManyRequests answers with the status 429 and its name.
func TooManyRequests(w http.ResponseWriter, _ *http.Request) {
	status := http.StatusTooManyRequests
	http.Error(w, http.StatusText(status), status)
}

// Metrics answers with the statistics of a limiter, as text for Prometheus.
func Metrics(limiter *librl.Limiter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text, err := limiter.Prometheus()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write([]byte(text)) // nobody is left to be told
	})
}

func (h Headers) set(header http.Header, decision *librl.Decision) {
	style := librl.HeadersDraft
	if h == Legacy {
		style = librl.HeadersLegacy
	}
	if h == RetryAfter && decision.Allowed {
		return
	}
	for _, line := range strings.Split(decision.Headers(style), "\r\n") {
		name, value, found := strings.Cut(line, ": ")
		if found && (h != RetryAfter || name == "Retry-After") {
			header.Set(name, value)
		}
	}
}
