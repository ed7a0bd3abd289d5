package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/cmd/epcommerce/internal/subscriptionstate"
)

// selection says which subscriptions and columns are printed.
type selection struct {
	state       string
	columns     []string
	noHeader    bool
	subscribers bool
	raw, mark   bool // as in printer
	separator   string
}

func (x *selection) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&x.state, "state", "", "only those in this `state`, such as active; status:NAME for a new status")
	flags.StringSliceVar(&x.columns, "columns", nil, "`names` of the columns of CSV, in this order, separated by commas")
	flags.BoolVar(&x.noHeader, "no-header", false, "leave the names of the columns out of CSV")
	flags.BoolVar(&x.raw, "raw", false, "write CSV without the apostrophes that keep a spreadsheet from running a cell")
	flags.BoolVar(&x.mark, "bom", false, "CSV for Excel: a byte order mark, and what it would change as =\"TEXT\"")
	flags.StringVar(&x.separator, "separator", "", "`sign` between the cells of CSV instead of a comma: ; | or tab")
	flags.BoolVar(&x.subscribers, "subscribers", false, "add subscriber_email; one request or more for each 100 accounts")
	complete(cmd, "separator", ",", ";", "|", "tab")
	complete(cmd, "state", subscriptionstate.Names...)
	complete(cmd, "columns", texts(noSubscription.cells, func(c cell) string { return c.column })...)
}

// complete lets the shell complete the values of a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// check refuses what does not fit the format, and columns and states that do not exist.
func (x *selection) check(format string) error {
	switch {
	case format != "csv" && (len(x.columns) > 0 || x.noHeader || x.raw || x.mark || separators[x.separator] != ','):
		return usagef("--columns, --no-header, --raw, --bom and --separator are for CSV")
	case separators[x.separator] == 0:
		return usagef("--separator must be one of , ; | and tab")
	}
	if x.state = strings.ToLower(x.state); x.state == "cancelled" {
		x.state = "canceled"
	}
	status, isStatus := strings.CutPrefix(x.state, "status:")
	if x.state != "" && (!isStatus || status == "") && !slices.Contains(subscriptionstate.Names, x.state) {
		return usagef("there is no state %q; the states are %s, and status:NAME for a status that is not among them",
			x.state, strings.Join(subscriptionstate.Names, ", "))
	}
	known := texts(x.first().cells, func(c cell) string { return c.column })
	for _, name := range x.columns {
		if !slices.Contains(known, name) {
			return usagef("there is no column %q; the columns are %s", name, strings.Join(known, ","))
		}
	}
	return nil
}

// separators are the values of --separator.
var separators = map[string]rune{"": ',', ",": ',', ";": ';', "|": '|', "tab": '\t'}

// newPrinter returns a printer of what is selected.
func (x *selection) newPrinter(w io.Writer, format string) *printer {
	p := newPrinter(w, format)
	p.columns, p.noHeader, p.raw, p.mark, p.csv.Comma = x.columns, x.noHeader, x.raw, x.mark, separators[x.separator]
	return p
}

// first returns a record with the columns.
func (x *selection) first() record {
	r := noSubscription
	if x.subscribers {
		r.cells = append(slices.Clone(r.cells), cell{"subscriber_email", ""})
	}
	return r
}

// records returns what is printed of a page.
func (x *selection) records(ctx context.Context, s *shop, page *commerce.SubscriptionPage) ([]record, error) {
	var emails map[uuid.UUID]string
	if x.subscribers {
		var err error
		if emails, err = s.emailsOf(ctx, page.Subscriptions); err != nil {
			return nil, err
		}
	}
	var list []record
	shared := encodings(&page.Included)
	for i := range page.Subscriptions {
		sub := &page.Subscriptions[i]
		if !x.isSelected(&sub.Meta) {
			continue
		}
		r := s.newRecord(ctx, sub, &page.Included)
		object := r.object.(members)
		for name, value := range object {
			if e, ok := shared[value]; ok {
				object[name] = e
			}
		}
		if email := emails[sub.Attributes.AccountID]; x.subscribers {
			r.cells = append(r.cells, cell{"subscriber_email", email})
			object["subscriber_email"] = email
			if email == "" {
				s.unknown++
			}
		}
		list = append(list, r)
	}
	return list, nil
}

// isSelected reports whether a subscription is in the state that --state names.
func (x *selection) isSelected(m *commerce.SubscriptionMeta) bool {
	if status, ok := strings.CutPrefix(x.state, "status:"); ok {
		return strings.EqualFold(status, m.Status)
	}
	return x.state == "" || strings.EqualFold(x.state, state(m))
}

// sayUnknown says that there are subscriptions without the address of a subscriber.
func (s *shop) sayUnknown() {
	if s.unknown > 0 {
		say(s.stderr, "%s without the address of a subscriber", counted(s.unknown, "subscription"))
	}
}

// encoding returns the JSON of a value, which is encoded when it is first needed.
type encoding func() ([]byte, error)

// MarshalJSONTo writes the JSON, as go-json-experiment/json asks for it.
func (e encoding) MarshalJSONTo(out *jsontext.Encoder) error {
	text, err := e()
	if err != nil {
		return err
	}
	return out.WriteValue(text)
}

// encodings returns the encodings of what the subscriptions of a page share, by its address.
func encodings(in *commerce.Included) map[any]encoding {
	list := map[any]encoding{}
	for i := range in.Plans {
		list[&in.Plans[i]] = sync.OnceValues(in.Plans[i].MarshalJSON)
	}
	for i := range in.PricingOptions {
		list[&in.PricingOptions[i]] = sync.OnceValues(in.PricingOptions[i].MarshalJSON)
	}
	return list
}

// subscriber is an entry of the list of subscribers.
type subscriber struct {
	ID         string `json:"id"`
	Attributes struct {
		AccountID uuid.UUID `json:"account_id"`
		Email     string    `json:"email"`
	} `json:"attributes"`
}

// emailsOf returns the e-mail addresses of the subscribers of each account, sorted.
func (s *shop) emailsOf(ctx context.Context, subs []commerce.Subscription) (map[uuid.UUID]string, error) {
	var accounts []string
	for _, sub := range subs {
		accounts = append(accounts, sub.Attributes.AccountID.String())
	}
	slices.Sort(accounts)
	lists := map[uuid.UUID][]string{}
	for part := range slices.Chunk(slices.Compact(accounts), commerce.MaxPageSize) {
		list := commerce.OffsetList[subscriber]{
			Path:     []string{"v2", "subscriptions", "subscribers"},
			Query:    url.Values{"filter": {"in(account_id," + strings.Join(part, ",") + ")"}},
			ID:       func(who *subscriber) string { return who.ID },
			PageSize: commerce.MaxPageSize,
		}
		for who, err := range commerce.Walk(ctx, s.Client, list) {
			if err != nil {
				return nil, fmt.Errorf("the subscribers: %w", err)
			}
			if account := who.Attributes.AccountID; who.Attributes.Email != "" {
				lists[account] = append(lists[account], who.Attributes.Email)
			}
		}
	}
	emails := map[uuid.UUID]string{}
	for account, list := range lists {
		slices.Sort(list)
		emails[account] = strings.Join(slices.Compact(list), ", ")
	}
	return emails, nil
}
