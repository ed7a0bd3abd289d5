package commerce

import "testing"

// A member that a response leaves out does not contradict what was sent.
func TestNewCustomDiscount_contradicts(t *testing.T) {
	t.Parallel()
	sent := NewCustomDiscount{Amount: NewDecimal(-10), Description: "text", DiscountCode: "CODE"}
	same := Money{Amount: NewDecimal(-10)}
	for _, tt := range []struct {
		name  string
		shown CustomDiscount
		want  bool
	}{
		{name: "nothing"},
		{name: "the same", shown: CustomDiscount{Amount: same, Description: " text", DiscountCode: "CODE"}},
		{name: "another amount", shown: CustomDiscount{Amount: Money{Amount: NewDecimal(-9)}}, want: true},
		{name: "0", shown: CustomDiscount{Amount: Money{Amount: NewDecimal(0)}}, want: true},
		{name: "another text", shown: CustomDiscount{Amount: same, Description: "other"}, want: true},
		{name: "another code", shown: CustomDiscount{DiscountCode: "code"}, want: true},
	} {
		if got := sent.contradicts(&tt.shown); got != tt.want {
			t.Errorf("%s: contradicts() = %t, want %t", tt.name, got, tt.want)
		}
	}
}
