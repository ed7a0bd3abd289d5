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

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/commerce-go/commerce"
)

// discountRecord returns how a discount is printed, with its amount in words. change is "" or what
// will happen to it.
func discountRecord(d commerce.CustomDiscount, change, amount string) record {
	item := "the cart"
	if d.Item != nil {
		item = d.Item.ID.String()
	}
	engine, external := plain(d.DiscountEngine), plain(d.ExternalID)
	r := record{object: d, cells: []cell{
		{"id", id(d.ID)},
		{"discount_engine", d.DiscountEngine},
		{"external_id", d.ExternalID},
		{"amount", d.Amount.Amount.String()},
		{"currency", d.Amount.Currency},
		{"discount_code", d.DiscountCode},
		{"description", d.Description},
		{"item", item},
	}}
	if change == "" {
		r.lines = []row{columns(discountWidths, amount, engine, external), columns([]int{38, 38}, "  "+id(d.ID), item)}
		return r
	}
	r.cells = append([]cell{{"change", change}}, r.cells...)
	r.object = map[string]any{"change": change, "discount": d}
	r.lines = []row{columns([]int{1, whole, 30, 31}, change, amount, engine, external)}
	if d.Item != nil {
		r.lines = append(r.lines, text("   on item "+item))
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
		p := e.newPrinter(discountHead, discountRecord(commerce.CustomDiscount{}, "", ""))
		for _, d := range cart.CustomDiscounts {
			r := discountRecord(d, "", s.amountOf(ctx, cart, d))
			if e.output == "json" { // what apply reads
				r.object = commerce.NewCustomDiscount{
					Amount: d.Amount.Amount, Description: d.Description, DiscountCode: d.DiscountCode,
					DiscountEngine: d.DiscountEngine, ExternalID: d.ExternalID, Item: d.Item,
				}
			}
			p.print(r)
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
	cmd.Long = short + ".\n-o json prints what apply reads, -o jsonl all that the service sends."
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
	short := "Make sure that each discount of FILE is on a cart exactly once"
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
	short := "Make sure that a discount is on a cart exactly once"
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
		item, err := uuid.Parse(text)
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
	if err := s.printPlan(ctx, plan, planErr); err != nil {
		return err
	}
	switch n := len(plan.Added) + len(plan.Updated) + len(plan.Deleted); {
	case a.dryRun:
		return cmp.Or(planErr, failures(checks))
	case n == 0:
		return planErr
	}
	if err := s.confirm(ctx, makeChanges, "--yes"); err != nil {
		return err
	}
	result, err := s.Carts.EnsureCustomDiscounts(ctx, cart, a.want, &a.opts)
	return s.report(result, err)
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
		if cart.CustomDiscountsEnabled {
			say(e.stderr, "custom discounts are enabled for the cart already")
			return nil
		}
		if err := e.confirm(ctx, capital(mayEnd)+". Enable them?", "--yes"); err != nil {
			return err
		}
		if err := s.Carts.EnableCustomDiscounts(ctx, args[0]); err != nil {
			return err
		}
		say(e.stderr, "custom discounts are enabled for the cart now")
		return nil
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
		if err := cmp.Or(json.Unmarshal(text, &d), json.Unmarshal(text, &written)); err != nil {
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

// printPlan prints the changes, and the differences that remain.
func (s *shop) printPlan(ctx context.Context, plan *commerce.CustomDiscountsResult, planErr error) error {
	p := s.newPrinter(nil, discountRecord(commerce.CustomDiscount{}, "+", ""))
	for i, list := range [][]commerce.CustomDiscount{plan.Deleted, plan.Updated, plan.Added, plan.Different} {
		for _, d := range list {
			p.print(discountRecord(d, []string{"-", "~", "+", "!"}[i], s.amountOf(ctx, plan.Cart, d)))
		}
	}
	if p.n == 0 && planErr == nil {
		say(s.stderr, "nothing to do")
	}
	return p.end()
}

// report says what was done and what was not, and returns the error with its exit code.
func (e *environment) report(r *commerce.CustomDiscountsResult, err error) error {
	if r == nil {
		return err
	}
	say(e.stderr, "%d added, %d changed, %d deleted", len(r.Added), len(r.Updated), len(r.Deleted))
	for _, d := range r.Missing {
		say(e.stderr, "not added: %s %s", plain(d.DiscountEngine), plain(d.ExternalID))
	}
	for _, d := range r.InDoubt {
		say(e.stderr, "in doubt: %s %s", plain(d.DiscountEngine), plain(d.ExternalID))
	}
	if err == nil && len(r.InDoubt) > 0 {
		err = errors.New("a write may still take effect\n  to do: " + e.todo(mayBeLate))
		return &exitError{code: exitUnfinished, err: err}
	}
	return err
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
		plan := &commerce.CustomDiscountsResult{Cart: cart}
		for _, d := range cart.CustomDiscounts {
			if slices.Contains(engines, d.DiscountEngine) || slices.Contains(ids, d.ID) {
				plan.Deleted = append(plan.Deleted, d)
			}
		}
		e.sayAbsent(cart, engines, ids)
		if len(plan.Deleted) == 0 {
			e.warn([]check{s.itemsOf(cart)})
		}
		if err := s.printPlan(ctx, plan, nil); err != nil || len(plan.Deleted) == 0 {
			return err
		}
		if err := e.confirm(ctx, makeChanges, "--yes"); err != nil {
			return err
		}
		for ; e.done < len(plan.Deleted) && err == nil; e.done++ {
			if err = s.Carts.DeleteCustomDiscount(ctx, args[0], plan.Deleted[e.done]); err != nil {
				say(e.stderr, "%s", e.describe(err))
				break
			}
		}
		say(e.stderr, "%d deleted", e.done)
		return e.unfinished(err, "not all are deleted")
	})
	flags := cmd.Flags()
	flags.Func("engine", "remove the discounts of this `engine`; may be repeated", func(text string) error {
		if engines = append(engines, text); text == "" || strings.TrimSpace(text) != text {
			return errors.New("must not be empty, or begin or end with a space")
		}
		return nil
	})
	flags.Func("id", "remove the discount with this `id`; may be repeated", func(text string) error {
		id, err := uuid.Parse(text)
		ids = append(ids, id)
		return err
	})
	e.addYes(flags)
	cmd.Example = "  epcommerce discounts remove CART --engine promo-engine"
	return cmd
}

// sayAbsent says which engines and ids no discount of the cart has.
func (e *environment) sayAbsent(cart *commerce.Cart, engines []string, ids []uuid.UUID) {
	found := map[any]bool{}
	for _, d := range cart.CustomDiscounts {
		found[d.DiscountEngine], found[d.ID] = true, true
	}
	for _, engine := range engines {
		if !found[engine] {
			say(e.stderr, "the cart has no discount of %q; its engines are %s", engine, enginesOf(cart).found)
		}
	}
	for _, id := range ids {
		if !found[id] {
			say(e.stderr, "the cart has no discount with the id %s", id)
		}
	}
}

// addYes adds the flag that says yes to the question of confirm.
func (e *environment) addYes(flags *pflag.FlagSet) {
	flags.BoolVarP(&e.yes, "yes", "y", false, "do not ask")
}

const makeChanges = "Make these changes?"

// confirm asks a question, unless a flag says yes. It refuses if nobody can see the question.
func (e *environment) confirm(ctx context.Context, question, flag string) error {
	if e.yes {
		return nil
	}
	if !e.stdinTerminal || !e.stderrTerminal {
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
