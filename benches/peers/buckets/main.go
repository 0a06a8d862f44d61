// The limiter of a Go server: limiters of x/time/rate in a sync.Map. A program of the
// benchmark: it reads lines such as "W1" and answers "W1 47.1", the nanoseconds for a
// call; to "W7 1000000" with the bytes of heap for each of so many keys.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

type limiter struct {
	buckets sync.Map
	rate    rate.Limit
	burst   int
}

func newLimiter(burst int, seconds float64) *limiter {
	return &limiter{rate: rate.Limit(float64(burst) / seconds), burst: burst}
}

func (l *limiter) allow(key string) bool {
	bucket, found := l.buckets.Load(key)
	if !found {
		// Only then: it takes a new limiter, whether the key is there or not.
		bucket, _ = l.buckets.LoadOrStore(key, rate.NewLimiter(l.rate, l.burst))
	}
	return bucket.(*rate.Limiter).Allow()
}

const (
	calls   = 1000000
	nameLen = 12
	hot     = "user-hot-key"
)

var (
	open    = newLimiter(1e9, 1)
	closed  = newLimiter(1, 36500*86400)
	perUser = newLimiter(1e9, 60)
	all     = rate.NewLimiter(rate.Limit(1e9/3600), 1e9)
	// Variables, or the keys of the hot user would be made by the compiler.
	hotUser, orders, shut, limits = hot, "/v1/orders", "/v1/closed", "/v1/limits"
)

func key(user, api string) string {
	return user + "\x00" + api
}

func repeat(ask func() bool) int {
	allowed := 0
	for i := 0; i < calls; i++ {
		if ask() {
			allowed++
		}
	}
	return allowed
}

func hotOpen(thread, threads int) int {
	return repeat(func() bool { return open.allow(key(hotUser, orders)) })
}

func hotClosed(thread, threads int) int {
	return repeat(func() bool { return closed.allow(key(hotUser, shut)) })
}

func hotThree(thread, threads int) int {
	return repeat(func() bool {
		return open.allow(key(hotUser, limits)) && perUser.allow(hotUser) && all.Allow()
	})
}

func each(users []string) func(thread, threads int) int {
	return func(thread, threads int) int {
		allowed, share := 0, len(users)/threads
		for _, user := range users[share*thread : share*(thread+1)] {
			if open.allow(key(user, orders)) {
				allowed++
			}
		}
		return allowed
	}
}

// Slices of one string, in the order of their use.
func read(name string) []string {
	bytes, err := os.ReadFile(filepath.Join(os.Args[1], name))
	if err != nil {
		log.Fatal(err)
	}
	text := string(bytes)
	names := make([]string, len(text)/nameLen)
	for i := range names {
		names[i] = text[i*nameLen : (i+1)*nameLen]
	}
	return names
}

// Nanoseconds for a call, in a thread's own time: the mean of the threads'.
func measure(threads, calls, allowed int, work func(thread, threads int) int) float64 {
	var ready, done sync.WaitGroup
	ready.Add(threads)
	done.Add(threads)
	times := make([]time.Duration, threads)
	for thread := 0; thread < threads; thread++ {
		go func(thread int) {
			defer done.Done()
			runtime.LockOSThread()
			ready.Done()
			ready.Wait()
			began := time.Now()
			answer := work(thread, threads)
			times[thread] = time.Since(began)
			if answer != allowed {
				log.Fatal("allowed ", answer)
			}
		}(thread)
	}
	done.Wait()
	sum := 0.0
	for _, elapsed := range times {
		sum += float64(elapsed.Nanoseconds()) / float64(calls)
	}
	return sum / float64(threads)
}

func figure(name string, keys, zipf []string) float64 {
	closed.allow(key(hotUser, shut))
	half := len(keys) / 2
	switch name {
	case "W1":
		return measure(1, calls, calls, hotOpen)
	case "W2":
		return measure(1, calls, 0, hotClosed)
	case "W3":
		return measure(1, len(keys), len(keys), each(keys))
	case "W4":
		return measure(2, calls, calls, hotOpen)
	case "W5":
		return measure(2, calls, 0, hotClosed)
	case "W6":
		return measure(2, half, half, each(keys))
	case "W8":
		return measure(2, half, half, each(zipf))
	case "W10":
		return measure(1, calls, calls, hotThree)
	}
	log.Fatal("no figure ", name)
	return 0
}

func heap() float64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// In an order that is not that of use: limiters would else lie as the calls come.
func fill(keys int) {
	for n := 0; n < keys; n++ {
		open.allow(key(fmt.Sprintf("user-%07d", n), orders))
	}
}

func bytesPerKey(keys int) float64 {
	before := heap()
	fill(keys)
	return (heap() - before) / float64(keys)
}

func main() {
	var keys, zipf []string
	questions := bufio.NewScanner(os.Stdin)
	for questions.Scan() {
		line, number, answer := questions.Text(), 0, 0.0
		if _, err := fmt.Sscanf(line, "W7 %d", &number); err == nil {
			answer = bytesPerKey(number)
		} else {
			if keys == nil {
				fill(calls)
				keys, zipf = read("keys"), read("zipf")
			}
			answer = figure(line, keys, zipf)
		}
		fmt.Printf("%s %.2f\n", line, answer)
	}
}
