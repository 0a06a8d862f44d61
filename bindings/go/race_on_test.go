//go:build race

package librl_test

const raceEnabled = true
