package benchmarks

// The limiters, and the names that they are asked about. Nothing comes back during a run, and
// nothing runs out but what is meant to.

import (
	"fmt"
	"sync"

	"golang.org/x/time/rate"

	"librl"
)

const (
	rules = `
default     = token-bucket,1000000000000,1000d
api./closed = token-bucket,1,1000d
memory      = 128m
`
	user   = "user-hot-key"
	orders = "/v1/orders"
	closed = "/closed"
	keys   = 1 << 20
)

// A buckets is what a Go server has without librl: limiters of x/time/rate, by key.
type buckets struct {
	byKey sync.Map
	burst int
}

func (s *buckets) Allow(user, api string) bool {
	key := user + "\x00" + api
	bucket, found := s.byKey.Load(key)
	if !found {
		limit := rate.Limit(float64(s.burst) / 1e6)
		bucket, _ = s.byKey.LoadOrStore(key, rate.NewLimiter(limit, s.burst))
	}
	return bucket.(*rate.Limiter).Allow()
}

var (
	limiter    = newLimiter()
	open, shut = &buckets{burst: 1e9}, &buckets{burst: 1}
	named      sync.Once
	users      = make([]string, keys)
)

func newLimiter() *librl.Limiter {
	l, err := librl.New(rules)
	if err != nil {
		panic(err)
	}
	return l
}

// name makes the users and their counters, these in an order that is not that of use. The
// benchmarks of one key come before: each run collects garbage first, and then there is much.
func name() {
	named.Do(func() {
		for i := range users {
			place := i * 7919 % keys
			users[place] = fmt.Sprintf("user%08d", i)
			limiter.Allow(users[place], orders)
			open.Allow(users[place], orders)
		}
	})
}
