package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const (
	records  = 360
	readSize = 20 // of a page
)

// drawWalk shows which records of a list two clients yield, while one record that was read already
// is removed after each request: a loop that adds the page size to the offset, and the library.
func drawWalk(ctx context.Context) (string, error) {
	loop, err := read(ctx, "offset += limit", loopOverPages)
	if err != nil {
		return "", err
	}
	walk, err := read(ctx, "All", (*commerce.SubscriptionService).All)
	if err != nil {
		return "", err
	}
	return picture{
		title: fmt.Sprintf("Records yielded of a list of %d, while one is removed after each request", records),
		heading: fmt.Sprintf("A list of %d records, %d a page; after each request, one that was read is removed",
			records, readSize),
		columns: 60,
		rows:    []row{loop, walk},
		legend:  []legend{{right, "yielded, once"}, {wrong, "in the list all the time, and never yielded"}},
	}.svg(), nil
}

// lister reads all subscriptions, as commerce.SubscriptionService.All does.
type lister func(
	*commerce.SubscriptionService, context.Context, *commerce.SubscriptionListOptions,
) iter.Seq2[*commerce.Subscription, error]

// loopOverPages reads the list without an overlap.
func loopOverPages(
	s *commerce.SubscriptionService, ctx context.Context, opts *commerce.SubscriptionListOptions,
) iter.Seq2[*commerce.Subscription, error] {
	return func(yield func(*commerce.Subscription, error) bool) {
		for offset := 0; ; offset += opts.PageSize {
			page, err := s.List(ctx, &commerce.SubscriptionListOptions{Offset: offset, PageSize: opts.PageSize})
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Subscriptions {
				if !yield(&page.Subscriptions[i], nil) {
					return
				}
			}
			if len(page.Subscriptions) < opts.PageSize {
				return
			}
		}
	}
}

// read reads a list that changes. A record that was removed counts as read: it was, before.
func read(ctx context.Context, name string, list lister) (row, error) {
	requests := 0
	var ids []uuid.UUID // of all records; nil until they are known
	store := commercetest.NewStore(commercetest.Config{
		AfterRequest: func(s *commercetest.Store, _ commercetest.Request) {
			if ids != nil {
				s.RemoveSubscription(ids[requests])
				requests++
			}
		},
	})
	store.Seed(records)
	var all []uuid.UUID
	for sub := range store.Subscriptions() {
		all = append(all, sub.ID)
	}
	ids = all
	yielded := map[uuid.UUID]bool{}
	opts := &commerce.SubscriptionListOptions{PageSize: readSize}
	for sub, err := range list(store.Client().Subscriptions, ctx, opts) {
		if err != nil {
			return row{}, err
		}
		yielded[sub.ID] = true
	}
	lost, squares := 0, make([]class, records)
	for i := range squares {
		if squares[i] = right; i >= requests && !yielded[ids[i]] {
			squares[i] = wrong
			lost++
		}
	}
	return row{name: name, facts: fmt.Sprintf("%d requests, %d records lost", requests, lost), squares: squares}, nil
}
