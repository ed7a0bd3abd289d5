package commerce

import (
	"fmt"
	"strings"
)

// ValidationError tells every fault of a call's arguments, found before
// anything was sent.
type ValidationError struct{ Fields []FieldError }

// FieldError is one fault of an argument. It never holds the value; of a header that
// may not be set it holds the key. Field and Message are for people.
type FieldError struct {
	Index   int    // in the batch; -1 for what is not an item of it
	Field   string // as the service names it, or in words, e.g. "external_id", "page size"
	Message string // e.g. "must be less than zero"
}

// Error names the first five problems. If there are more, it also says how many.
func (e *ValidationError) Error() string {
	if e == nil {
		return "<nil>"
	}
	var b strings.Builder
	b.WriteString("commerce: invalid argument")
	for i, f := range e.Fields {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		if i == maxShown {
			fmt.Fprintf(&b, "; and others, %d in all", len(e.Fields))
			break
		}
		b.WriteString(sep + f.String())
	}
	return b.String()
}

// String returns the fault as text.
func (f FieldError) String() string {
	if f.Index >= 0 {
		return fmt.Sprintf("discount %d: %s %s", f.Index, f.Field, f.Message)
	}
	return f.Field + " " + f.Message
}

// Is reports whether target is ErrInvalidArgument.
func (e *ValidationError) Is(target error) bool { return e != nil && target == ErrInvalidArgument }

// add records a fault of what is not an item of a batch.
func (e *ValidationError) add(field, message string) {
	e.Fields = append(e.Fields, FieldError{Index: -1, Field: field, Message: message})
}

// err returns e, or nil if it has no faults.
func (e *ValidationError) err() error {
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}

// invalid returns a ValidationError with one fault.
func invalid(field, message string) error {
	e := &ValidationError{}
	e.add(field, message)
	return e
}
