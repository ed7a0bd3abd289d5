package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
)

func newDiscountsCommand(e *environment) *cobra.Command {
	return group(&cobra.Command{Use: "discounts", Short: "Show and change the custom discounts of a cart"},
		newShowCommand(e), newApplyCommand(e), newRemoveCommand(e), newEnableCommand(e))
}

// discount is a discount of a cart, and what happens to it.
type discount struct {
	commerce.CustomDiscount
	change string // "+", "~" or "-"; "!" if it differs and is not changed
	item   string // name of the item, or its id
}

func (d discount) cells() []cell {
	return []cell{
		{"change", d.change},
		{"id", d.ID},
		{"discount_engine", d.DiscountEngine},
		{"external_id", d.ExternalID},
		{"amount", d.Amount.Amount},
		{"currency", d.Amount.Currency},
		{"formatted", d.Amount.Formatted},
		{"discount_code", d.DiscountCode},
		{"description", d.Description},
		{"item", d.item},
	}
}

// level returns the item, or says that the discount is of the cart.
func (d discount) level() string {
	if d.item == "" {
		return "the cart"
	}
	return d.item
}

var discountView = view[discount]{
	widths: []int{36, 12, 28},
	head:   [][]string{{"ID", "AMOUNT", "ENGINE"}, {"  EXTERNAL ID", "CODE", "ITEM"}},
	lines: func(d discount) [][]string {
		return [][]string{
			row(d.ID.String(), d.Amount.String(), d.DiscountEngine),
			row("  "+plain(d.ExternalID), d.DiscountCode, d.level()),
		}
	},
	cells:  func(d discount) []cell { return d.cells()[1:] },
	object: func(d discount) any { return d.CustomDiscount },
}

// planView shows changes that a command is about to make.
var planView = view[discount]{
	widths: []int{1, 24, 24, 12, 11},
	lines: func(d discount) [][]string {
		return [][]string{row(d.change, d.DiscountEngine, d.ExternalID, d.Amount.String(), d.level())}
	},
	cells: discount.cells,
	object: func(d discount) any {
		return map[string]any{"change": d.change, "discount": d.CustomDiscount}
	},
}

func newShowCommand(e *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show CART",
		Short: "Show the custom discounts of a cart and its items, and the totals",
		Args:  cobra.ExactArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := e.open()
		if err != nil {
			return err
		}
		cart, err := s.Carts.Get(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		total := &cart.DisplayPrice
		if e.output == "json" {
			encoded, err := encode(map[string]any{
				"cart": cart.ID, "custom_discounts_enabled": cart.CustomDiscountsEnabled,
				"display_price": total, "custom_discounts": append([]commerce.CustomDiscount{}, cart.CustomDiscounts...),
			})
			if err == nil {
				_, err = fmt.Fprintf(e.stdout, "%s\n", encoded)
			}
			return err
		}
		p := newPrinter(e, discountView)
		for _, d := range cart.CustomDiscounts {
			if err := p.print(discount{CustomDiscount: d, item: itemName(cart, d.Item)}); err != nil {
				return err
			}
		}
		if p.n == 0 {
			say(e.stderr, "the cart has no custom discounts")
		}
		if err := p.end(); err != nil || p.format != "table" {
			return err
		}
		_, err = fmt.Fprintf(e.stdout, "\nwithout discounts %s, discounts %s, with tax %s\n",
			plain(total.WithoutDiscount.String()), plain(total.Discount.String()), plain(total.WithTax.String()))
		return err
	}
	return e.addOutputFlag(cmd)
}

// itemName returns the name of an item of a cart, or its id if the cart does not show it.
func itemName(cart *commerce.Cart, ref *commerce.CartItemRef) string {
	if ref == nil {
		return ""
	}
	if cart != nil {
		for _, item := range cart.Items {
			if item.ID == ref.ID && item.Name != "" {
				return item.Name
			}
		}
	}
	return ref.ID.String()
}

func newApplyCommand(e *environment) *cobra.Command {
	opts := &commerce.EnsureCustomDiscountsOptions{}
	yes, dryRun := false, false
	cmd := &cobra.Command{
		Use:   "apply CART FILE",
		Short: "Make sure that each discount of a file is on a cart exactly once",
		Long: "Make sure that each discount of a file is on a cart exactly once. FILE is a JSON array of discounts\n" +
			"as the service's requests have them, or - for standard input. Run it as often as you like.",
		Args: cobra.ExactArgs(2),
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.Update, "update", false, "change discounts of the cart that differ from those of the file")
	flags.BoolVar(&opts.Prune, "prune", false, "delete discounts of the same engines that are not in the file")
	flags.StringArrayVar(&opts.Engines, "engine", nil, "with --prune: delete those of this `engine` too")
	flags.BoolVar(&opts.AllOrNothing, "all-or-nothing", false, "add all that is missing, or nothing")
	flags.BoolVar(&dryRun, "dry-run", false, "change nothing, only show the plan")
	flags.BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		want, err := e.readDiscounts(args[1])
		if err != nil {
			return err
		}
		job := ensureJob{e: e, cartID: args[0], want: want, opts: opts, yes: yes}
		return job.run(cmd.Context(), dryRun)
	}
	return e.addOutputFlag(cmd)
}

// readDiscounts reads a JSON array of discounts, or an object with the array as data.
func (e *environment) readDiscounts(path string) (want []commerce.NewCustomDiscount, err error) {
	var text []byte
	if path == "-" {
		text, err = io.ReadAll(e.stdin)
	} else {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, usagef("can't read the discounts: %w", err)
	}
	if text = bytes.TrimSpace(text); bytes.HasPrefix(text, []byte("{")) {
		var body struct{ Data json.RawMessage }
		err = json.Unmarshal(text, &body)
		text = body.Data
	}
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		return nil, usagef("%s must hold a JSON array of discounts, as the service's requests do: %w", path, err)
	}
	return want, nil
}

// ensureJob makes a cart have the wanted discounts.
type ensureJob struct {
	e      *environment
	cartID string
	want   []commerce.NewCustomDiscount
	opts   *commerce.EnsureCustomDiscountsOptions
	yes    bool
}

// run shows the plan, asks, and carries it out.
func (j *ensureJob) run(ctx context.Context, dryRun bool) error {
	s, err := j.e.open()
	if err != nil {
		return err
	}
	dry := *j.opts
	dry.DryRun = true
	plan, planErr := s.Carts.EnsureCustomDiscounts(ctx, j.cartID, j.want, &dry)
	if plan == nil {
		return planErr
	}
	changes := len(plan.Added) + len(plan.Updated) + len(plan.Deleted)
	if err := j.e.printPlan(plan); err != nil {
		return err
	}
	if dryRun || changes == 0 {
		if changes == 0 && planErr == nil {
			say(j.e.stderr, "nothing to do: the cart is as wanted")
		}
		return planErr
	}
	if err := j.e.confirm(ctx, j.yes, changes); err != nil {
		return err
	}
	result, err := s.Carts.EnsureCustomDiscounts(ctx, j.cartID, j.want, j.opts)
	if result != nil {
		j.report(result)
		if len(result.InDoubt) > 0 {
			err = &exitError{exitUnfinished, errors.Join(err, errors.New("a write may still take effect: run this again"))}
		}
	}
	return err
}

// printPlan prints the changes, and the differences that remain.
func (e *environment) printPlan(plan *commerce.EnsureCustomDiscountsResult) error {
	p := newPrinter(e, planView)
	for _, part := range []struct {
		change string
		list   []commerce.CustomDiscount
	}{{"-", plan.Deleted}, {"~", plan.Updated}, {"+", plan.Added}, {"!", plan.Different}} {
		for _, d := range part.list {
			if err := p.print(discount{CustomDiscount: d, change: part.change, item: itemName(nil, d.Item)}); err != nil {
				return err
			}
		}
	}
	return p.end()
}

// report says what was done, and what was not.
func (j *ensureJob) report(r *commerce.EnsureCustomDiscountsResult) {
	say(j.e.stderr, "%d added, %d changed, %d deleted", len(r.Added), len(r.Updated), len(r.Deleted))
	for _, d := range r.Missing {
		say(j.e.stderr, "not added: %s %s", plain(d.DiscountEngine), plain(d.ExternalID))
		for _, reason := range d.Reasons {
			say(j.e.stderr, "  %s: %s", plain(reason.Title), plain(reason.Detail))
		}
	}
	for _, d := range r.Different {
		say(j.e.stderr, "differs: %s", plain(d.String()))
	}
	for _, d := range r.InDoubt {
		say(j.e.stderr, "in doubt: %s %s", plain(d.DiscountEngine), plain(d.ExternalID))
	}
}

func newRemoveCommand(e *environment) *cobra.Command {
	var engines, ids []string
	yes := false
	cmd := &cobra.Command{
		Use:   "remove CART",
		Short: "Remove the discounts of an engine, or some by their ids",
		Args:  cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&engines, "engine", nil, "remove the discounts of this `engine`; may be repeated")
	flags.StringArrayVar(&ids, "id", nil, "remove the discount with this `id`; may be repeated")
	flags.BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case (len(engines) == 0) == (len(ids) == 0):
			return usagef("set --engine or --id, not both")
		case len(ids) > 0:
			return e.removeByID(cmd.Context(), args[0], ids, yes)
		}
		opts := &commerce.EnsureCustomDiscountsOptions{Prune: true, Engines: engines}
		job := ensureJob{e: e, cartID: args[0], opts: opts, yes: yes}
		return job.run(cmd.Context(), false)
	}
	return e.addOutputFlag(cmd)
}

func (e *environment) removeByID(ctx context.Context, cartID string, ids []string, yes bool) error {
	s, err := e.open()
	if err != nil {
		return err
	}
	cart, err := s.Carts.Get(ctx, cartID)
	if err != nil {
		return err
	}
	plan := &commerce.EnsureCustomDiscountsResult{}
	for _, text := range ids {
		id, err := uuid.Parse(text)
		if err != nil {
			return usagef("--id must be a UUID: discounts show prints it")
		}
		at := slices.IndexFunc(cart.CustomDiscounts, func(d commerce.CustomDiscount) bool { return d.ID == id })
		if at < 0 {
			return fmt.Errorf("the cart has no discount %s: nothing was changed", id)
		}
		plan.Deleted = append(plan.Deleted, cart.CustomDiscounts[at])
	}
	if err := e.printPlan(plan); err != nil {
		return err
	}
	if err := e.confirm(ctx, yes, len(plan.Deleted)); err != nil {
		return err
	}
	for n, d := range plan.Deleted {
		if err := s.Carts.DeleteCustomDiscount(ctx, cartID, d); err != nil {
			return fmt.Errorf("%d of %d deleted: %w", n, len(plan.Deleted), err)
		}
	}
	say(e.stderr, "%d deleted", len(plan.Deleted))
	return nil
}

func newEnableCommand(e *environment) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use:   "enable CART",
		Short: "Enable custom discounts for a cart, which turns the store's promotions off in it",
		Args:  cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := e.open()
		if err != nil {
			return err
		}
		if err := e.confirm(cmd.Context(), yes, 1); err != nil {
			return err
		}
		return s.Carts.EnableCustomDiscounts(cmd.Context(), args[0])
	}
	return cmd
}

// confirm asks whether changes may be made. It asks nothing if nobody can see the question.
func (e *environment) confirm(ctx context.Context, yes bool, changes int) error {
	if yes {
		return nil
	}
	if !e.stdinTerminal || !e.stderrTerminal {
		return usagef("nothing was changed: without a terminal to ask on, this needs --yes")
	}
	fmt.Fprintf(e.stderr, "Change the cart (%d changes)? [y/N] ", changes)
	reply := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(e.stdin).ReadString('\n') // the end of the input is a no
		reply <- strings.ToLower(strings.TrimSpace(text))
	}()
	select {
	case <-ctx.Done():
		return fmt.Errorf("nothing was changed: %w", ctx.Err())
	case text := <-reply:
		if text == "y" || text == "yes" {
			return nil
		}
	}
	return errors.New("nothing was changed")
}
