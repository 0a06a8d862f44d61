// The benchmarks, apart from the module, so that that needs no other. x/time is the one that
// Debian has packed (golang-golang-x-time-dev): nothing comes from the network.
module librl/benchmarks

go 1.19

require (
	golang.org/x/time v0.3.0
	librl v0.0.0
)

replace (
	golang.org/x/time => /usr/share/gocode/src/golang.org/x/time
	librl => ../
)
