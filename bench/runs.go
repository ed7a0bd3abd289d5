package main

import "time"

// run is a client that is measured, each time in a process of its own.
type run struct {
	name  string
	store store
	n     int // records that it reads, or calls that it makes
	unit  int // times are per so many of them
	do    client
	js    []string // a program for Node.js and its arguments, instead of do
	old   string   // a run of the earlier program, instead of do
	like  string   // the run of the library that does the same
}

const (
	listed  = 10_000
	latency = 20 * time.Millisecond

	perRecords = 10_000
	perCalls   = 1000
)

// The stores of the runs.
var (
	plain  = store{records: listed}
	zipped = store{records: listed, gzip: true}
	large  = store{records: 10 * listed}
	slow   = store{records: listed, latency: latency}
)

// walkJS walks by the vendor's JavaScript SDK, which is installed beside it.
const walkJS = "../.ci/vendor-clients/walk.mjs"

// runs are in the order of the table.
var runs = []run{
	// All walks 10,000 subscriptions, 100 per page, without included resources.
	{name: "All", store: plain, n: listed, unit: perRecords, do: all(1)},
	// Pages walks the same list with the 20 plans and 10 products that each page includes, and
	// decodes them too.
	{name: "Pages", store: plain, n: listed, unit: perRecords, do: library(pages)},
	// loop does the same as All by net/http and encoding/json, with structs of all members.
	{name: "loop", store: plain, n: listed, unit: perRecords, do: loop("", byStandard), like: "All"},
	// loop, included does the same as Pages in this way.
	{name: "loop, included", store: plain, n: listed, unit: perRecords, do: loop(withIncluded, byStandard), like: "Pages"},
	// loop, goccy is the loop with github.com/goccy/go-json instead of encoding/json.
	{name: "loop, goccy", store: plain, n: listed, unit: perRecords, do: loop("", byGoccy), like: "All"},
	// loop, sonic is the loop with github.com/bytedance/sonic. It compiles code for the processor
	// while it runs; under a Go release that it does not know, it is encoding/json.
	{name: "loop, sonic", store: plain, n: listed, unit: perRecords, do: loop("", bySonic), like: "All"},
	// oapi-codegen does the same as Pages by a client that oapi-codegen generated.
	{name: "oapi-codegen", store: plain, n: listed, unit: perRecords, do: generated, like: "Pages"},
	// js-sdk does the same as All by the vendor's JavaScript SDK, @elasticpath/js-sdk, on Node.js.
	// Ids and dates stay strings. As for Go, the start of the process and a first request do not
	// count. What Node.js compiles during the walk counts. Allocations are not counted, and the Go
	// release does not matter.
	{name: "js-sdk", store: plain, n: listed, unit: perRecords, js: []string{walkJS, ""}, like: "All"},
	// js-sdk, included does the same as Pages in this way.
	{name: "js-sdk, included", store: plain, n: listed, unit: perRecords, js: []string{walkJS, "plans,products"},
		like: "Pages"},
	// no decoding reads the same pages by net/http and drops them. No client can be faster.
	{name: "no decoding", store: plain, n: listed, unit: perRecords, do: floor},
	// All, gzip is All with compressed responses. All other runs have uncompressed ones.
	{name: "All, gzip", store: zipped, n: listed, unit: perRecords, do: all(1)},
	// loop, gzip is the loop with compressed responses.
	{name: "loop, gzip", store: zipped, n: listed, unit: perRecords, do: loop("", byStandard), like: "All, gzip"},
	// All, ByAccount walks 100,000 subscriptions of 33,334 accounts, and lists the accounts too.
	// Times are per 10,000 records, as those of All.
	{name: "All, ByAccount", store: large, n: 10 * listed, unit: perRecords, do: allByAccount(1)},
	// All, 20 ms is All with responses that take 20 ms, with Concurrency 1. The 102 requests alone
	// take 2,040 ms.
	{name: "All, 20 ms", store: slow, n: listed, unit: perRecords, do: all(1)},
	// All, 20 ms, x8 is the same with Concurrency 8. The requests alone take 260 ms, if always 8
	// are in flight.
	{name: "All, 20 ms, x8", store: slow, n: listed, unit: perRecords, do: all(8)},
	// All, ByAccount, 20 ms walks 10,000 subscriptions of 3,334 accounts, with Concurrency 1. 34
	// requests list the accounts, 113 the subscriptions, and 102 look for others, of accounts
	// that are not listed.
	{name: "All, ByAccount, 20 ms", store: slow, n: listed, unit: perRecords, do: allByAccount(1)},
	// All, ByAccount, 20 ms, x8 is the same with Concurrency 8.
	{name: "All, ByAccount, 20 ms, x8", store: slow, n: listed, unit: perRecords, do: allByAccount(8)},

	// GET: library reads a page of one subscription by Client.Do into a json.RawMessage, 3,000
	// times.
	{name: "GET: library", store: plain, n: gets, unit: perCalls, do: library(getByDo)},
	// GET: net/http reads the same page by net/http and io.ReadAll.
	{name: "GET: net/http", store: plain, n: gets, unit: perCalls, do: getByHand, like: "GET: library"},
	// POST: library x1 adds 4,000 batches of 3 discounts to a cart by AddCustomDiscounts.
	{name: "POST: library x1", store: plain, n: posts, unit: perCalls, do: onNetwork(1, posts, addDiscounts)},
	// POST: net/http x1 encodes and sends the same batches by encoding/json and net/http, decodes
	// the response, and checks its status and that it has each external id.
	{name: "POST: net/http x1", store: plain, n: posts, unit: perCalls, do: addByHand(1), like: "POST: library x1"},
	// POST: library x16 makes the 4,000 calls on 16 goroutines, each with a cart of its own.
	{name: "POST: library x16", store: plain, n: posts, unit: perCalls, do: onNetwork(16, posts, addDiscounts)},
	// POST: net/http x16 does the same. Its transport keeps 16 idle connections, as that of the
	// library does.
	{name: "POST: net/http x16", store: plain, n: posts, unit: perCalls, do: addByHand(16), like: "POST: library x16"},
	// Get a cart reads a cart with an item and 3 discounts by Carts.Get, 1,000 times.
	{name: "Get a cart", store: plain, n: ensures, unit: perCalls, do: onNetwork(1, ensures, getCart)},
	// Ensure, none missing calls EnsureCustomDiscounts for the 3 discounts of such a cart: 1
	// request.
	{name: "Ensure, none missing", store: plain, n: ensures, unit: perCalls,
		do: onNetwork(1, ensures, ensureCart("full", 0))},
	// Ensure, 1 missing does so for a cart that lacks one of them: 3 requests, GET, POST and GET.
	{name: "Ensure, 1 missing", store: plain, n: ensures, unit: perCalls,
		do: onNetwork(1, ensures, ensureCart(shortCart, 1))},

	// The cart calls again, 10,000 times without a network: a transport in the process responds. So
	// the figures are of the library alone.
	{name: "Get, alone", store: plain, n: alones, unit: perCalls, do: alone(getCart)},
	{name: "Ensure, alone", store: plain, n: alones, unit: perCalls, do: alone(ensureCart(shortCart, 1))},
	{name: "Add, alone", store: plain, n: alones, unit: perCalls, do: alone(addDiscounts)},
	// … before are the same calls of the library as it was at an earlier commit, see BEFORE in the
	// Makefile.
	{name: "Get, alone, before", store: plain, n: alones, unit: perCalls, old: "Get, alone", like: "Get, alone"},
	{name: "Ensure, alone, before", store: plain, n: alones, unit: perCalls, old: "Ensure, alone", like: "Ensure, alone"},
	{name: "Add, alone, before", store: plain, n: alones, unit: perCalls, old: "Add, alone", like: "Add, alone"},
}
