package librl_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"librl"
)

func TestAnErrorSaysWhereAndWhat(t *testing.T) {
	_, err := librl.New("default = token-bucket,5,10\napi./a = token-bucket,x,10\n")
	var e *librl.Error
	if !errors.As(err, &e) || !errors.Is(err, librl.ErrConfig) {
		t.Fatalf("%#v", err)
	}
	equal(t, "line", e.Line, 2)
	equal(t, "column", e.Column, 23)
	equal(t, "text", e.Error(), "librl: line 2, column 23: "+e.Message)

	_, err = librl.New("memory = 1m")
	if !errors.Is(err, librl.ErrConfig) || !strings.Contains(err.Error(), "default") {
		t.Error(err)
	}
	_, err = librl.Load(filepath.Join(t.TempDir(), "none"))
	isError(t, "no file", err, librl.ErrIO)
	isError(t, "no name", librl.UnlinkZone("no slash"), librl.ErrArgument)
}

func TestRulesComeFromAFileAndFromOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.rules")
	succeeds(t, os.WriteFile(path, []byte(hundred+"\n"), 0o600))
	l, err := librl.Load(path, librl.WithEntry("user.bob", "deny"), librl.WithEntry("memory", "1m"))
	succeeds(t, err)
	defer l.Close()
	equal(t, "alice", l.Allow("alice", ""), true)
	equal(t, "bob", l.Allow("bob", ""), false)
	stats, err := l.Stats()
	succeeds(t, err)
	equal(t, "memory", stats.MemoryBytes, 1<<20)

	_, err = librl.New(hundred, librl.WithEntry("default", "deny"))
	isError(t, "the default twice", err, librl.ErrConfig)
	_, err = librl.New(hundred, librl.WithEntry("memory", "1m\x00"))
	isError(t, "a NUL", err, librl.ErrArgument)
}

func TestAReloadKeepsWhatWasCounted(t *testing.T) {
	l := open(t, hundred)
	is := decided(t)
	is(l.CheckN("alice", "", 60))
	succeeds(t, l.Reload("default = token-bucket,70,1000d"))
	equal(t, "left", is(l.Peek("alice", "", 1)).Limit, 70)
	isError(t, "wrong rules", l.Reload("default = nonsense"), librl.ErrConfig)
	path := filepath.Join(t.TempDir(), "limits.rules")
	succeeds(t, os.WriteFile(path, []byte("default = deny"), 0o600))
	equal(t, "the old rules", is(l.Peek("alice", "", 1)).Limit, 70)
	succeeds(t, l.ReloadFile(path))
	equal(t, "denied", l.Allow("alice", ""), false)
}

func TestALimiterTellsOfItself(t *testing.T) {
	l := open(t, hundred+"\napi./v1/* = token-bucket,7,60")
	rule, err := l.Explain("alice", "/v1/x")
	succeeds(t, err)
	equal(t, "rule", rule, "api./v1/* = token-bucket,7,60")
	long := strings.Repeat(" ", 60000)
	succeeds(t, l.Reload(hundred, librl.WithEntry(`user."`+long+`"`, "deny")))
	rule, err = l.Explain(long, "")
	succeeds(t, err)
	equal(t, "a long one", len(rule) > 60000, true)

	l.Allow("alice", "")
	text, err := l.Prometheus()
	succeeds(t, err)
	equal(t, "allowed, as text", strings.Contains(text, "allowed"), true)
	equal(t, "ends with a line", strings.HasSuffix(text, "\n"), true)
	equal(t, "version", strings.Count(librl.Version(), "."), 2)
}

func TestHeadersAreThoseOfTheStyle(t *testing.T) {
	l := open(t, "default = token-bucket,1,60")
	d := decided(t)(l.Check("alice", ""))
	equal(t, "draft", d.Headers(librl.HeadersDraft),
		"RateLimit-Policy: \"default\";q=1;w=60\r\nRateLimit: \"default\";r=0;t=60\r\n")
	equal(t, "legacy", d.Headers(librl.HeadersLegacy),
		"X-RateLimit-Limit: 1\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 60\r\n")
	none := librl.Decision{}
	equal(t, "of none", none.Headers(librl.HeadersDraft), "")
}

func TestAfterCloseEveryCallIsErrClosed(t *testing.T) {
	l := open(t, hundred)
	succeeds(t, l.Close())
	succeeds(t, l.Close())
	equal(t, "allowed", l.Allow("", ""), false)
	calls := map[string]func() error{
		"Check":      func() error { _, err := l.Check("", ""); return err },
		"CheckBytes": func() error { _, err := l.CheckBytes(nil, nil, 1); return err },
		"CheckBatch": func() error { _, err := l.CheckBatch(make([]librl.Request, 2), nil); return err },
		"CheckNone":  func() error { _, err := l.CheckBatch(nil, nil); return err },
		"CheckAll":   func() error { _, _, err := l.CheckAll(librl.Request{}); return err },
		"Wait":       func() error { return l.Wait(context.Background(), "", "", 1) },
		"Peek":       func() error { _, err := l.Peek("", "", 1); return err },
		"Charge":     func() error { _, err := l.Charge("", "", 1); return err },
		"Refund":     func() error { return l.Refund("", "", 1) },
		"Reset":      func() error { return l.Reset("", "") },
		"Reload":     func() error { return l.Reload(hundred) },
		"Explain":    func() error { _, err := l.Explain("", ""); return err },
		"Stats":      func() error { _, err := l.Stats(); return err },
		"Prometheus": func() error { _, err := l.Prometheus(); return err },
	}
	for what, call := range calls {
		isError(t, what, call(), librl.ErrClosed)
	}
}

// Each round has other calls in flight. What is freed too early is unmapped, and a crash.
func TestCloseDuringChecksWaitsForThem(t *testing.T) {
	name := zone(t)
	for round := 0; round < 80; round++ {
		l := open(t, shared(name))
		together(8, func(i int) {
			if i == 0 {
				l.Close()
				equal(t, "mapped after Close", mapped(t, name), false)
			}
			var err error
			for err == nil {
				_, err = l.CheckBatch(make([]librl.Request, 50), nil)
			}
			isError(t, "the error", err, librl.ErrClosed)
		})
	}
}

func TestManyMayCloseAtTheSameTime(t *testing.T) {
	name := zone(t)
	for round := 0; round < 50; round++ {
		l := open(t, shared(name))
		together(4, func(int) {
			l.Close()
			equal(t, "mapped after Close", mapped(t, name), false)
		})
	}
}

func TestALimiterThatIsForgottenIsClosed(t *testing.T) {
	name := zone(t)
	func() {
		l, err := librl.New(shared(name))
		succeeds(t, err)
		equal(t, "mapped", l.Allow("alice", "") && mapped(t, name), true)
	}()
	eventually(t, "its end", func() bool {
		runtime.GC()
		return !mapped(t, name)
	})
}

// The last use of a limiter is a call in which it is garbage already, and names are made for
// one call alone.
func TestTheGarbageCollectorTakesNothingFromACallInFlight(t *testing.T) {
	collecting(t)
	together(4, func(i int) {
		for n := 0; n < 200; n++ {
			l, err := librl.New("default = token-bucket,1,1000d\nmemory = 1m")
			if err != nil {
				t.Error(err)
				return
			}
			name := strings.Repeat(string(rune('a'+n%26)), 4000)
			equal(t, "first", l.Allow(name, name[:n]), true)
			decisions, err := l.CheckBatch([]librl.Request{{User: strings.ToUpper(name)}, {User: name[1:]}}, nil)
			equal(t, "in a batch", err == nil && decisions[0].Allowed && decisions[1].Allowed, true)
			d, err := l.CheckBytes([]byte(name), []byte(name[:n]), 1)
			equal(t, "second", err == nil && !d.Allowed, true)
		}
	})
}
