package rlhttp_test

// A server of net/http on a port of its own, and its clients.

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"librl"
	"librl/rlhttp"
)

func limiter(t *testing.T, rules string) *librl.Limiter {
	t.Helper()
	l, err := librl.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func serve(t *testing.T, m rlhttp.Middleware) *httptest.Server {
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	server := httptest.NewServer(m.Handler(hello))
	server.Client().Timeout = 30 * time.Second
	t.Cleanup(server.Close)
	return server
}

type answer struct {
	status int
	text   string
	header http.Header
}

func get(t *testing.T, server *httptest.Server, path string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequest("GET", server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return answer{response.StatusCode, string(text), response.Header}
}

func equal[T comparable](t *testing.T, what string, found, expected T) {
	t.Helper()
	if found != expected {
		t.Errorf("%s: %v, expected %v", what, found, expected)
	}
}

func TestExactlyTheLimitPasses(t *testing.T) {
	server := serve(t, rlhttp.Middleware{Limiter: limiter(t, "default = token-bucket,100,1000d")})
	var passed, refused atomic.Int64
	var done sync.WaitGroup
	for client := 0; client < 20; client++ {
		done.Add(1)
		go func() {
			defer done.Done()
			for i := 0; i < 15; i++ {
				switch get(t, server, "/a").status {
				case http.StatusOK:
					passed.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				}
			}
		}()
	}
	done.Wait()
	equal(t, "passed", passed.Load(), 100)
	equal(t, "refused", refused.Load(), 200)
	equal(t, "another path", get(t, server, "/b").text, "hello")
}

func TestAnAnswerTellsOfTheLimit(t *testing.T) {
	for _, c := range []struct {
		headers         rlhttp.Headers
		passed, refused map[string]string
	}{
		{rlhttp.Draft,
			map[string]string{"RateLimit-Policy": `"default";q=1;w=3600`, "RateLimit": `"default";r=0;t=3600`, "Retry-After": ""},
			map[string]string{"RateLimit-Policy": `"default";q=1;w=3600`, "RateLimit": `"default";r=0;t=3600`, "Retry-After": "3600"}},
		{rlhttp.Legacy,
			map[string]string{"X-RateLimit-Limit": "1", "X-RateLimit-Remaining": "0", "RateLimit": "", "Retry-After": ""},
			map[string]string{"X-RateLimit-Limit": "1", "X-RateLimit-Reset": "3600", "Retry-After": "3600"}},
		{rlhttp.RetryAfter,
			map[string]string{"X-RateLimit-Limit": "", "RateLimit": "", "Retry-After": ""},
			map[string]string{"X-RateLimit-Limit": "", "RateLimit": "", "Retry-After": "3600"}},
	} {
		clock := librl.NewManualClock(0)
		l, err := librl.New("default = token-bucket,1,3600\napi./never = deny", librl.WithClock(clock))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		server := serve(t, rlhttp.Middleware{Limiter: l, Headers: c.headers})
		first, second := get(t, server, "/a"), get(t, server, "/a")
		equal(t, "first", first.status, 200)
		equal(t, "second", second.status, 429)
		equal(t, "its text", second.text, "Too Many Requests\n")
		for name, value := range c.passed {
			equal(t, "passed, "+name, first.header.Get(name), value)
		}
		for name, value := range c.refused {
			equal(t, "refused, "+name, second.header.Get(name), value)
		}
		never := get(t, server, "/never")
		equal(t, "never", never.status, 429)
		equal(t, "never, Retry-After", never.header.Get("Retry-After"), "")
	}
}

func TestKeyCostAndAnswerMayBeOnesOwn(t *testing.T) {
	server := serve(t, rlhttp.Middleware{
		Limiter: limiter(t, "default = token-bucket,4,1000d"),
		Key:     func(r *http.Request) (user, api string) { return r.Header.Get("X-User"), r.Method },
		Cost:    func(*http.Request) uint64 { return 3 },
		Refused: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "later", 503) }),
	})
	equal(t, "alice", get(t, server, "/a", "X-User", "alice").status, 200)
	refused := get(t, server, "/b", "X-User", "alice")
	equal(t, "alice again", refused.status, 503)
	equal(t, "what she is told", refused.text, "later\n")
	equal(t, "bob", get(t, server, "/a", "X-User", "bob").status, 200)
}

func TestARequestThatCannotBeCheckedDoesNotPass(t *testing.T) {
	l := limiter(t, "default = unlimited")
	m := rlhttp.Middleware{Limiter: l}
	server := serve(t, m)
	m.Failed = func(w http.ResponseWriter, r *http.Request, _ error, next http.Handler) { next.ServeHTTP(w, r) }
	open := serve(t, m)
	long := "/" + strings.Repeat("x", 65535)
	equal(t, "a name that is too long", get(t, server, long).status, 400)
	equal(t, "where failures pass", get(t, open, long).text, "hello")
	l.Close()
	equal(t, "closed", get(t, server, "/").status, 503)
}

func TestMetricsAreForPrometheus(t *testing.T) {
	l := limiter(t, "default = unlimited")
	server := httptest.NewServer(rlhttp.Metrics(l))
	defer server.Close()
	page := get(t, server, "/metrics")
	equal(t, "type", page.header.Get("Content-Type"), "text/plain; version=0.0.4")
	equal(t, "text", strings.Contains(page.text, "allowed"), true)
	l.Close()
	equal(t, "closed", get(t, server, "/metrics").status, 503)
}

func TestAClientIsItsAddressOrItsNetwork(t *testing.T) {
	for address, client := range map[string]string{
		"192.0.2.7:4711":                       "192.0.2.7",
		"192.0.2.7":                            "192.0.2.7",
		"[::ffff:192.0.2.7]:4711":              "192.0.2.7",
		"[2001:db8:1:2:3:4:5:6]:80":            "2001:db8:1:2::/64",
		"[2001:db8:1:2:aaaa:bbbb:cccc:dddd]:1": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":                    "fe80::/64",
		"@":                                    "@",
		"":                                     "",
	} {
		equal(t, address, rlhttp.Address(address), client)
	}
}
