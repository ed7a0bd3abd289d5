// Walk-everything writes the subscriptions of a store of any size to a file, as JSON Lines. After
// an error, a crash or kill -9, run it again to continue.
//
//	go run ./examples/walk-everything -o subs.jsonl
//
// It runs on a fake store, unless COMMERCE_BASE_URL names a live one, with COMMERCE_CLIENT_ID and
// COMMERCE_CLIENT_SECRET, or with COMMERCE_TOKEN. A shopper's token cannot list accounts.
// FILE.partial becomes FILE when it is complete. Until then FILE.state shows where to go on; delete
// it to start over. A token does not say which store it is for: with one, going on needs -resume.
// Only one run at a time may write a file. A subscription is in FILE once if it
// exists, and its account is listed, from the start of the first run to the end of the last. The
// service does not list deleted accounts: theirs come last.
//
// Exit codes: 0 done; 1 stopped by an error, fix its cause and run it again; 2 unknown flag; 3
// done, but without the accounts that it names, which cannot be read, e.g. because they have more
// than 10,100 subscriptions, or there may be others that the service does not list.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"os"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/examples/internal/store"
)

// job is a walk that goes on after a crash. The state file has its exported fields.
type job struct {
	Store    string      // address and client id
	Finished uuid.UUID   // the output has all subscriptions up to this account
	Length   int64       // of that output, in bytes
	Skipped  []uuid.UUID // accounts that cannot be read
	output   *os.File
	path     string // of the state file
}

func main() {
	path := flag.String("o", "subs.jsonl", "`file` to write")
	n := flag.Int("n", 2500, "`number` of subscriptions in the fake store")
	concurrency := flag.Int("concurrency", 4, "`number` of requests in flight, 1 to 16")
	resume := flag.Bool("resume", false, "with COMMERCE_TOKEN: go on, the store is that of the run before")
	flag.Parse()
	client, err := store.Open(os.Getenv, os.Stderr, func(fake *commercetest.Store) { fake.Seed(*n) })
	check(err)
	if info, err := os.Lstat(*path); err == nil && !info.Mode().IsRegular() {
		log.Fatal(*path, " is not a plain file")
	}
	// All stores of a region share the address.
	name := os.Getenv("COMMERCE_BASE_URL") + " " + os.Getenv("COMMERCE_CLIENT_ID")
	j := &job{Store: name, path: *path + ".state"}
	if state, err := os.ReadFile(j.path); !errors.Is(err, os.ErrNotExist) {
		check(err, json.Unmarshal(state, j))
	}
	j.output, err = os.OpenFile(*path+".partial", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err)
	info, err := j.output.Stat()
	if check(err); info.Size() < j.Length || j.Store != name {
		log.Fatalf("%s belongs to another store or output: delete it to start over", j.path)
	}
	if j.Length > 0 && os.Getenv("COMMERCE_TOKEN") != "" && !*resume {
		log.Fatalf("a token does not say which store it is for: set -resume if it is the same, or delete %s", j.path)
	}
	var failed uuid.UUID // the account that failed in the walk before
	isBeyond := false    // accounts that are not listed may have more subscriptions
	for err := j.walk(client, *concurrency); err != nil; err = j.walk(client, *concurrency) {
		stop, ok := errors.AsType[*commerce.PagingError](err)
		if isBeyond = ok && stop.Account == uuid.Nil && errors.Is(err, commerce.ErrOffsetLimit); isBeyond {
			break // after all that can be found
		}
		if !ok || stop.Account == uuid.Nil || len(j.Skipped) == 100 { // 100 failed: probably all would
			log.Fatal(err)
		}
		if failed != stop.Account && !errors.Is(err, commerce.ErrOffsetLimit) {
			log.Print("try again: ", err) // it may pass
			failed = stop.Account
			continue
		}
		log.Print("skip account ", stop.Account, ": ", err)
		j.Skipped = append(j.Skipped, stop.Account)
	}
	check(j.output.Sync(), j.output.Close())
	check(os.RemoveAll(j.path))
	check(os.Rename(*path+".partial", *path))
	if len(j.Skipped) > 0 {
		log.Print("done, without the accounts ", j.Skipped)
	}
	if isBeyond {
		log.Print("done; the service does not list all accounts, and others of them may have subscriptions")
	}
	if len(j.Skipped) > 0 || isBeyond {
		os.Exit(3)
	}
}

// walk writes what is missing. It removes what was written after the state, because it is yielded
// again.
func (j *job) walk(client *commerce.Client, concurrency int) error {
	check(os.Truncate(j.output.Name(), j.Length))
	ctx, lines := context.Background(), json.NewEncoder(j.output)
	opts := &commerce.SubscriptionListOptions{
		ByAccount: true, After: j.Finished, Skip: j.Skipped, Concurrency: concurrency,
	}
	for page, err := range client.Subscriptions.Pages(ctx, opts) {
		if err != nil {
			return err
		}
		for i := range page.Subscriptions {
			check(lines.Encode(&page.Subscriptions[i])) // a write: nothing is buffered
		}
		if page.Finished == uuid.Nil {
			continue // an account is written in part: no place to go on from
		}
		info, err := j.output.Stat()
		check(err, j.output.Sync()) // before the state names it
		j.Finished, j.Length = page.Finished, info.Size()
		state, err := os.Create(j.path + ".tmp")
		check(err)
		check(json.NewEncoder(state).Encode(j), state.Sync(), state.Close())
		check(os.Rename(state.Name(), j.path)) // atomic: a crash leaves the old state or the new one
	}
	return nil
}

// check ends the program if there is an error. The next run goes on.
func check(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		log.Fatal(err)
	}
}
