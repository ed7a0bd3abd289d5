package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// figures are what a run measured, or the least of each in all rounds.
type figures [5]float64

// The indices of figures.
const (
	cpu    = iota // of the client process, in ms per unit of the run
	wall          // in ms per unit of the run
	allocs        // per record or call
	memory        // allocated, in kB per record or call
	peak          // resident memory of the process, in MiB
)

// results are the figures of all runs under a Go release.
type results struct {
	Go            string // e.g. go1.26.8
	Date          string
	Cores, Rounds int
	Node          string             // e.g. v20.20.2; empty if the runs of Node.js were left out
	Least         map[string]figures // by name of the run: what disturbs a run makes its figures larger
	Size          float64            // what a program grows by if it uses the library, in MB
}

// slowRounds is the number of rounds that count for a run that waits for its responses: its time
// varies little.
const slowRounds = 3

// measureAll measures all runs in turn, several rounds of them. A round before these fills caches
// and does not count.
//
// before is the commit of the earlier library, or empty: then its runs are left out.
func measureAll(rounds int, before string) (*results, error) {
	servers := map[store]*server{}
	for _, r := range runs {
		if servers[r.store] != nil {
			continue
		}
		s, err := newServer(r.store)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		servers[r.store] = s
	}
	node, err := installSDK()
	if err != nil {
		log.Printf("without the runs of js-sdk: %v", err)
	}
	old, remove, err := buildBefore(before)
	if err != nil {
		return nil, err
	}
	defer remove()
	all := map[string][]figures{}
	for round := range rounds + 1 {
		for _, r := range runs {
			if r.store.latency > 0 && round > slowRounds || r.js != nil && node == "" || r.old != "" && before == "" {
				continue
			}
			f, err := measureApart(r, old, servers[r.store].URL)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			}
			if round > 0 {
				all[r.name] = append(all[r.name], f)
			}
		}
		log.Printf("%s: %d of %d rounds", runtime.Version(), round, rounds)
	}
	size, err := sizeDifference()
	if err != nil {
		return nil, err
	}
	res := &results{
		Go: runtime.Version(), Date: time.Now().Format(time.DateOnly), Cores: runtime.NumCPU(), Rounds: rounds,
		Node: node, Least: map[string]figures{}, Size: size,
	}
	for name, list := range all {
		res.Least[name] = least(list)
	}
	return res, nil
}

// installSDK installs the vendor's JavaScript SDK, as its lock file pins it. It returns the version
// of Node.js.
func installSDK() (string, error) {
	version, err := exec.CommandContext(context.Background(), "node", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("node: %w", err)
	}
	npm := exec.CommandContext(context.Background(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = filepath.Dir(walkJS)
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return strings.TrimSpace(string(version)), nil
}

// buildBefore builds this program with the library as it was at a commit.
func buildBefore(commit string) (program string, remove func(), err error) {
	if commit == "" {
		return "", func() {}, nil
	}
	dir, err := os.MkdirTemp("", "before")
	if err != nil {
		return "", nil, err
	}
	const script = `git archive "$1" | tar -x -C "$2" && rm -r "$2/bench" && cp -R bench "$2" &&
		go build -C "$2/bench" -o "$2/program" .`
	cmd := exec.CommandContext(context.Background(), "sh", "-c", script, "sh", commit, dir)
	cmd.Dir = ".."
	remove = func() { _ = os.RemoveAll(dir) }
	if out, err := cmd.CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("build the program of %s: %w\n%s", commit, err, out)
	}
	return filepath.Join(dir, "program"), remove, nil
}

// measureApart runs this program again to measure a run, or old, the earlier program, or Node.js.
func measureApart(r run, old, base string) (f figures, err error) {
	cmd := exec.CommandContext(context.Background(), os.Args[0], "-run", r.name, "-base", base)
	switch {
	case r.js != nil:
		args := append(slices.Clone(r.js), base, strconv.Itoa(r.n))
		cmd = exec.CommandContext(context.Background(), "node", args...)
	case r.old != "":
		cmd = exec.CommandContext(context.Background(), old, "-run", r.old, "-base", base)
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(out, &f)
}

// measureHere measures a run in this process.
func measureHere(name, base string) (f figures, err error) {
	i := slices.IndexFunc(runs, func(r run) bool { return r.name == name })
	if i < 0 {
		return f, fmt.Errorf("there is no run %q", name)
	}
	r, ctx := &runs[i], context.Background()
	resp, err := get(ctx, base, pageAt(withIncluded, 0)) // lets net/http allocate what it allocates once
	if err != nil {
		return f, err
	}
	_ = resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpuBefore, start := cpuTime(), time.Now()
	n, err := r.do(ctx, base)
	took, cpuTook := time.Since(start), cpuTime()-cpuBefore
	runtime.ReadMemStats(&after)
	if err == nil && n != r.n {
		err = fmt.Errorf("%d records or calls, want %d", n, r.n)
	}
	if err != nil {
		return f, err
	}
	perUnit := func(d time.Duration) float64 { return d.Seconds() * 1000 * float64(r.unit) / float64(n) }
	return figures{
		cpu:    perUnit(cpuTook),
		wall:   perUnit(took),
		allocs: float64(after.Mallocs-before.Mallocs) / float64(n),
		memory: float64(after.TotalAlloc-before.TotalAlloc) / 1000 / float64(n),
		peak:   peakMemory(),
	}, nil
}

// cpuTime returns the time that all threads of this process have used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMemory returns the peak memory of this process in MiB. Unlike getrusage it does not count
// that of the parent.
func peakMemory() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		log.Fatal(err)
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscanf(line, "%f", &kib); err != nil {
		log.Fatal(err)
	}
	return kib / 1024
}

// least returns the minimum of each figure.
func least(all []figures) figures {
	m := all[0]
	for _, f := range all {
		for i := range m {
			m[i] = min(m[i], f[i])
		}
	}
	return m
}

// sizeDifference builds lister and looper, stripped, and returns by how many MB lister is larger.
func sizeDifference() (float64, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	build := func(name string) (size int64, err error) {
		path := filepath.Join(dir, name)
		cmd := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./"+name)
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
		info, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	lister, err := build("lister")
	if err != nil {
		return 0, err
	}
	looper, err := build("looper")
	return float64(lister-looper) / 1e6, err
}
