package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/commerce-go/commerce"
)

// discountRecord returns how a discount is printed, with its amount in words.
func discountRecord(d commerce.CustomDiscount, amount string) record {
	item := "the cart"
	if d.Item != nil {
		item = d.Item.ID.String()
	}
	engine, external := plain(d.DiscountEngine), plain(d.ExternalID)
	return record{
		lines: []row{columns(discountWidths, amount, engine, external), columns([]int{38, 38}, "  "+id(d.ID), item)},
		cells: []cell{
			{"id", id(d.ID)}, {"discount_engine", d.DiscountEngine}, {"external_id", d.ExternalID},
			{"amount", d.Amount.Amount.String()}, {"currency", d.Amount.Currency}, {"discount_code", d.DiscountCode},
			{"description", d.Description}, {"item", item},
		},
		object: newShownDiscount(d),
	}
}

// shownDiscount is the JSON of a discount: what a request for it has, its id and its currency.
type shownDiscount struct {
	ID       uuid.UUID      `json:"id,omitzero"`
	Currency string         `json:"currency,omitzero"`
	Request  jsontext.Value `json:",embed"`
}

func newShownDiscount(d commerce.CustomDiscount) shownDiscount {
	request, _ := jsonv2.Marshal(&commerce.NewCustomDiscount{ // no error: a number and texts
		Amount: d.Amount.Amount, Description: d.Description, DiscountCode: d.DiscountCode,
		DiscountEngine: d.DiscountEngine, ExternalID: d.ExternalID, Item: d.Item,
	})
	return shownDiscount{d.ID, d.Amount.Currency, request}
}

// discountChange returns how a discount is printed in changes. sign is how a table shows what is
// wanted.
func (s *shop) discountChange(ctx context.Context, cart *commerce.Cart, sign string, d commerce.CustomDiscount) record {
	r := discountRecord(d, "")
	r.object = members{"discount": r.object}
	r.lines = []row{columns([]int{1, whole, 24, 25},
		sign, s.amountOf(ctx, cart, d), plain(d.DiscountEngine), plain(d.ExternalID))}
	if d.Item != nil {
		r.lines = append(r.lines, text("   on item "+d.Item.ID.String()))
	}
	return r
}

var discountWidths = []int{whole, 32, 32}

var discountHead = []row{
	columns(discountWidths, "AMOUNT", "ENGINE", "EXTERNAL ID"), columns([]int{38, 38}, "  ID", "ITEM"),
}

func newShowCommand(e *environment) *cobra.Command {
	short := "Show the custom discounts of a cart and its items, and the totals"
	cmd := e.command("show CART", short, func(ctx context.Context, s *shop, args []string) error {
		cart, err := s.readCart(ctx, args[0])
		if err != nil {
			return err
		}
		p := e.newPrinter(discountHead, discountRecord(commerce.CustomDiscount{}, ""))
		for _, d := range cart.CustomDiscounts {
			p.print(discountRecord(d, s.amountOf(ctx, cart, d)))
		}
		if p.format == "table" {
			total := &cart.DisplayPrice
			totals := fmt.Sprintf("%s: %s of %s, the customer pays %s", counted(p.n, "discount"),
				s.money(ctx, total.Discount), s.money(ctx, total.WithoutDiscount), s.money(ctx, total.WithTax))
			_, _ = p.out.WriteString(totals + "\n")
		}
		if err := p.end(); err != nil {
			return err
		}
		e.warn(s.checkCart(ctx, cart, nil))
		return nil
	})
	cmd.Example = "  epcommerce discounts show CART -o json > discounts.json"
	cmd.Long = short + ".\n-o json prints what apply reads."
	return cmd
}

// warn writes what checks found to standard error.
func (e *environment) warn(checks []check) {
	for _, c := range checks {
		if c.failed() {
			say(e.stderr, "%s: %s\n  to do: %s", c.name, plain(c.found), c.todo)
		}
	}
}

// application is a call of apply or add.
type application struct {
	want   []commerce.NewCustomDiscount
	opts   commerce.EnsureCustomDiscountsOptions
	dryRun bool
}

func (a *application) addFlags(e *environment, flags *pflag.FlagSet) {
	flags.BoolVar(&a.opts.Update, "update", false, "change discounts of the cart that differ from the wanted ones")
	flags.BoolVar(&a.dryRun, "dry-run", false, "change nothing, only show the plan")
	e.addYes(flags)
}

func newApplyCommand(e *environment) *cobra.Command {
	a := &application{}
	short := "Put each discount of FILE on a cart, unless it is there"
	cmd := e.command("apply CART FILE", short, func(ctx context.Context, s *shop, args []string) (err error) {
		if a.want, err = e.readDiscounts(args[1]); err != nil {
			return err
		}
		switch engines := a.opts.Engines; {
		case len(engines) > 0 && !a.opts.Prune:
			return usagef("--engine needs --prune")
		case len(a.want) == 0 && len(engines) == 0:
			return usagef("FILE has no discounts: to delete all of an engine, set --prune and --engine")
		}
		return a.run(ctx, s, args[0])
	})
	cmd.Long = short + ".\nFILE has a JSON array, as discounts show -o json prints it; - is standard input."
	a.addFlags(e, cmd.Flags())
	cmd.Flags().BoolVar(&a.opts.Prune, "prune", false, "delete discounts of the same engines that are not in the file")
	cmd.Flags().StringArrayVar(&a.opts.Engines, "engine", nil, "with --prune: delete those of this `engine` too")
	cmd.Flags().BoolVar(&a.opts.AllOrNothing, "all-or-nothing", false, "add all that is missing, or nothing")
	cmd.Example = "  epcommerce discounts show CART -o json > discounts.json\n" +
		"  epcommerce discounts apply OTHER-CART discounts.json --dry-run"
	return cmd
}

func newAddCommand(e *environment) *cobra.Command {
	a, d, amount := &application{}, commerce.NewCustomDiscount{}, ""
	short := "Put a discount on a cart, unless it is there"
	cmd := e.command("add CART", short, func(ctx context.Context, s *shop, args []string) error {
		cart, err := s.Carts.Get(ctx, args[0])
		if err != nil {
			return err
		}
		if d.Item != nil {
			isIt := func(item commerce.CartItem) bool { return item.ID == d.Item.ID }
			i := slices.IndexFunc(cart.Items, isIt)
			if i < 0 {
				return usagef("the cart has no item with the id %s", d.Item.ID)
			}
			d.Item.Type = cart.Items[i].Type
		}
		if d.Amount, err = s.parseAmount(ctx, amount, cart); err != nil {
			return err
		}
		a.want = []commerce.NewCustomDiscount{d}
		return a.run(ctx, s, args[0])
	})
	a.addFlags(e, cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&amount, "amount", "", "`amount`: -500 in the smallest unit; -5.00 or -5.00USD in the cart's currency")
	flags.StringVar(&d.DiscountEngine, "engine", "", "`name` of the system that decided on the discount")
	flags.StringVar(&d.ExternalID, "external-id", "", "`id` of the discount in that system")
	flags.StringVar(&d.DiscountCode, "code", "", "`code` of the discount, such as that of a coupon")
	flags.StringVar(&d.Description, "description", "", "`text` for people")
	flags.Func("item", "`id` of the item that the discount is for, not the whole cart", func(text string) error {
		item, err := parseUUID(text)
		d.Item = &commerce.CartItemRef{ID: item}
		return err
	})
	for _, name := range []string{"amount", "engine", "external-id", "code", "description"} {
		_ = cmd.MarkFlagRequired(name) // it exists
	}
	cmd.Example = "  epcommerce discounts add CART --amount -5.00 --engine support \\\n" +
		"    --external-id ticket-42 --code SORRY --description \"Five dollars off\""
	return cmd
}

// run shows what it would do, asks, and does it.
func (a *application) run(ctx context.Context, s *shop, cart string) error {
	dry := a.opts
	dry.DryRun = true
	plan, planErr := s.Carts.EnsureCustomDiscounts(ctx, cart, a.want, &dry)
	if plan == nil {
		return planErr
	}
	var checks []check
	if plan.Cart != nil && planErr == nil {
		changed := slices.Concat(plan.Deleted, plan.Updated)
		planned := append([]commerce.CustomDiscount{}, plan.Updated...) // not nil, which means no change
		for _, d := range plan.Cart.CustomDiscounts {
			if !slices.ContainsFunc(changed, func(other commerce.CustomDiscount) bool { return other.ID == d.ID }) {
				planned = append(planned, d)
			}
		}
		checks = s.checkCart(ctx, plan.Cart, append(planned, plan.Added...))
		s.warn(checks)
	}
	l := s.resultOf(ctx, plan, planErr, resultNotTried, nil)
	if a.dryRun || len(plan.Added)+len(plan.Updated)+len(plan.Deleted) == 0 {
		err := errors.Join(l.print(s.stdout, s.output), l.finish(ctx, nil))
		return cmp.Or(err, planErr, failures(checks))
	}
	if err := l.ask(ctx, makeChanges); err != nil {
		return err
	}
	result, err := s.Carts.EnsureCustomDiscounts(ctx, cart, a.want, &a.opts)
	if result != nil {
		l = s.resultOf(ctx, result, err, resultDone, plan.Deleted)
	}
	for _, c := range l.list {
		if c.result == resultNotTried && result == nil {
			c.end(err)
		}
	}
	return cmp.Or(l.finish(ctx, l.print(s.stdout, s.output)), err)
}

// capital returns a sentence with its first letter in upper case.
func capital(sentence string) string { return strings.ToUpper(sentence[:1]) + sentence[1:] }

func newEnableCommand(e *environment) *cobra.Command {
	short := "Enable custom discounts for a cart"
	cmd := e.command("enable CART", short, func(ctx context.Context, s *shop, args []string) error {
		cart, err := s.Carts.Get(ctx, args[0])
		if err != nil {
			return err
		}
		e.warn([]check{s.itemsOf(cart)}) // an id that nobody has is that of a new cart
		thing := record{
			lines: []row{columns([]int{60}, args[0])}, cells: []cell{{"cart", args[0]}}, object: members{"cart": args[0]},
		}
		l := &changes{environment: e, none: thing}
		change := l.add("enable", resultNotTried, thing)
		change.do = func() error { return s.Carts.EnableCustomDiscounts(ctx, args[0]) }
		if cart.CustomDiscountsEnabled {
			change.result = resultUnchanged
		} else if err := e.confirm(ctx, capital(mayEnd)+". Enable them?", "--yes"); err != nil {
			return err
		}
		return l.carryOut(ctx)
	})
	e.addYes(cmd.Flags())
	cmd.Long = short + ".\n" + capital(mayEnd) + "."
	cmd.Example = "  epcommerce discounts enable CART"
	return cmd
}

// readDiscounts reads FILE: an array, or an object with the array in data.
func (e *environment) readDiscounts(path string) (want []commerce.NewCustomDiscount, err error) {
	text, err := e.readFile(path)
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	var list []json.RawMessage
	var object struct{ Data *[]json.RawMessage }
	switch {
	case err != nil:
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		err = errors.New("it is UTF-16: save it as UTF-8")
	case json.Unmarshal(text, &list) == nil && list != nil:
	case json.Unmarshal(text, &object) == nil && object.Data != nil:
		list = *object.Data
	default:
		err = errors.New("it is neither an array nor an object with an array data")
	}
	if err != nil {
		return nil, usagef("FILE must hold a JSON array of discounts: %w", err)
	}
	for i, text := range list {
		var d commerce.NewCustomDiscount
		var written struct{ Amount json.RawMessage }
		var shown shownDiscount
		err := jsonv2.Unmarshal(text, &shown)
		if shown.Request == nil {
			shown.Request = jsontext.Value("{}")
		}
		if err = cmp.Or(err, json.Unmarshal(shown.Request, &d), json.Unmarshal(text, &written)); err != nil {
			return nil, usagef("discount %d of FILE: %s", i+1, inJSON(err))
		}
		// -10.00 would be ten of the smallest unit.
		if bytes.ContainsAny(written.Amount, ".eE") || !d.Amount.IsInteger() {
			return nil, usagef("discount %d of FILE: the amount must be in the smallest unit, without a point", i+1)
		}
		want = append(want, d)
	}
	return want, nil
}

// goType is how an error of JSON begins. Its words vary.
var goType = regexp.MustCompile(`^json: .* into Go \S+?(?: within "/([^"]*)")?(?:: (.*))?$`)

// inJSON returns an error of JSON in words of JSON.
func inJSON(err error) string {
	parts := goType.FindStringSubmatch(err.Error())
	if parts == nil {
		return strings.TrimPrefix(err.Error(), "jsontext: ")
	}
	return strings.TrimPrefix(parts[1]+": "+cmp.Or(parts[2], "this is not what it may hold"), ": ")
}

// newChanges returns the changes of the discounts of a cart.
func (s *shop) newChanges(ctx context.Context) *changes {
	return &changes{environment: s.environment, none: s.discountChange(ctx, nil, "", commerce.CustomDiscount{})}
}

// resultOf returns what became of each discount, or will become of it: success is the result of
// those that are right. err is the error of the call.
func (s *shop) resultOf(
	ctx context.Context, r *commerce.CustomDiscountsResult, err error, success string, deletes []commerce.CustomDiscount,
) *changes {
	l, seen, doubtful := s.newChanges(ctx), map[[2]string]bool{}, map[[2]string]bool{}
	var missing []commerce.CustomDiscount
	for _, d := range r.InDoubt {
		late := asDiscount(d)
		doubtful[keyOf(late)] = true
		if !slices.ContainsFunc(r.Different, func(o commerce.CustomDiscount) bool { return keyOf(o) == keyOf(late) }) {
			missing = append(missing, late)
		}
	}
	for _, d := range r.Missing {
		missing = append(missing, asDiscount(d.NewCustomDiscount))
	}
	for _, group := range []struct {
		sign, wanted, result string
		list                 []commerce.CustomDiscount
	}{
		{"-", "delete", success, r.Deleted}, {"~", "change", success, r.Updated}, {"+", "add", success, r.Added},
		{"+", "add", resultFailed, missing}, {"!", "change", resultFailed, r.Different},
		{"=", "add", resultUnchanged, r.Discounts},
	} {
		for _, d := range group.list {
			key := keyOf(d)
			if seen[key] && group.wanted == "add" {
				continue // it was named by its change
			}
			seen[key] = group.sign != "-" // a copy was deleted
			wanted, sign := group.wanted, group.sign
			if sign == "!" && slices.ContainsFunc(deletes, func(o commerce.CustomDiscount) bool { return o.ID == d.ID }) {
				wanted, sign = "delete", "-"
			}
			c := l.add(wanted, group.result, s.discountChange(ctx, r.Cart, sign, d))
			switch {
			case doubtful[key]:
				c.result, c.err = resultInDoubt, cmp.Or(err, errLate)
			case c.result == resultFailed && errors.Is(err, context.Canceled):
				c.result = resultNotTried
			case c.result == resultFailed:
				c.err = err
			}
		}
	}
	return l
}

func keyOf(d commerce.CustomDiscount) [2]string { return [2]string{d.DiscountEngine, d.ExternalID} }

// errLate is the error of a discount that was sent, if the call had no error.
var errLate error = &commerce.Error{Outcome: commerce.OutcomeUnknown, Err: errors.New("a write may still take effect")}

// asDiscount returns a discount that is not on a cart.
func asDiscount(d commerce.NewCustomDiscount) commerce.CustomDiscount {
	return commerce.CustomDiscount{
		Amount: commerce.Money{Amount: d.Amount}, Description: d.Description, DiscountCode: d.DiscountCode,
		DiscountEngine: d.DiscountEngine, ExternalID: d.ExternalID, Item: d.Item,
	}
}

func newRemoveCommand(e *environment) *cobra.Command {
	var engines []string
	var ids []uuid.UUID
	short := "Remove the discounts of an engine, or some by their ids"
	cmd := e.command("remove CART", short, func(ctx context.Context, s *shop, args []string) error {
		if len(engines)+len(ids) == 0 {
			return usagef("set --engine or --id")
		}
		cart, err := s.readCart(ctx, args[0])
		if err != nil {
			return err
		}
		l := s.newChanges(ctx)
		for _, d := range cart.CustomDiscounts {
			if slices.Contains(engines, d.DiscountEngine) || slices.Contains(ids, d.ID) {
				change := l.add("delete", resultNotTried, s.discountChange(ctx, cart, "-", d))
				change.do = func() error { return s.Carts.DeleteCustomDiscount(ctx, args[0], d) }
			}
		}
		isAny := len(l.list) > 0
		s.addAbsent(ctx, l, cart, engines, ids)
		if !isAny {
			e.warn([]check{s.itemsOf(cart)})
		} else if err := l.ask(ctx, makeChanges); err != nil {
			return err
		}
		return l.carryOut(ctx)
	})
	flags := cmd.Flags()
	flags.Func("engine", "remove the discounts of this `engine`; may be repeated", func(text string) error {
		if engines = append(engines, text); text == "" || strings.TrimSpace(text) != text {
			return errors.New("must not be empty, or begin or end with a space")
		}
		return nil
	})
	flags.Func("id", "remove the discount with this `id`; may be repeated", func(text string) error {
		id, err := parseUUID(text)
		ids = append(ids, id)
		return err
	})
	e.addYes(flags)
	cmd.Example = "  epcommerce discounts remove CART --engine promo-engine"
	return cmd
}

// addAbsent adds the ids that no discount of the cart has, which is no failure, and says which
// engines it has not.
func (s *shop) addAbsent(ctx context.Context, l *changes, cart *commerce.Cart, engines []string, ids []uuid.UUID) {
	found := map[any]bool{}
	for _, d := range cart.CustomDiscounts {
		found[d.DiscountEngine], found[d.ID] = true, true
	}
	for _, engine := range engines {
		if !found[engine] {
			say(s.stderr, "the cart has no discount of %q; its engines are %s", engine, enginesOf(cart).found)
		}
	}
	for _, id := range ids {
		if !found[id] {
			found[id] = true // named once
			c := l.add("delete", resultUnknown, s.discountChange(ctx, cart, "-", commerce.CustomDiscount{ID: id}))
			c.thing.lines = []row{columns([]int{1, 36}, "-", id.String())}
			say(s.stderr, "the cart has no discount with the id %s", id)
		}
	}
}

// addYes adds the flag that says yes to the question of confirm.
func (e *environment) addYes(flags *pflag.FlagSet) {
	flags.BoolVarP(&e.yes, "yes", "y", false, "do not ask")
}

const makeChanges = "Make these changes?"

// canAsk reports whether somebody can see a question, and reply.
func (e *environment) canAsk() bool { return e.stdinTerminal && e.stderrTerminal }

// confirm asks a question, unless a flag says yes. It refuses if nobody can see the question.
func (e *environment) confirm(ctx context.Context, question, flag string) error {
	if e.yes {
		return nil
	}
	if !e.canAsk() {
		return usagef("nothing was changed: without a terminal to ask on, this needs %s", flag)
	}
	fmt.Fprint(e.stderr, question, " [y/N] ")
	reply := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(e.stdin).ReadString('\n') // the end of the input is a no
		reply <- strings.ToLower(strings.TrimSpace(text))
	}()
	select {
	case <-ctx.Done():
	case text := <-reply:
		if text == "y" || text == "yes" {
			return nil
		}
	}
	return errors.New("nothing was changed")
}
