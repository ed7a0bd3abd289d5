package main

import "time"

// The types of loop, with ids as strings.
type (
	loopPage struct {
		Data     []loopSubscription `json:"data"`
		Included struct {
			Plans    []loopPlan    `json:"plans"`
			Products []loopProduct `json:"products"`
		} `json:"included"`
		Links map[string]*string `json:"links"`
	}
	loopTimestamps struct {
		UpdatedAt   time.Time  `json:"updated_at"`
		CreatedAt   time.Time  `json:"created_at"`
		CanceledAt  *time.Time `json:"canceled_at"`
		PausedAt    *time.Time `json:"paused_at"`
		ResumedAt   *time.Time `json:"resumed_at"`
		EndDate     *time.Time `json:"end_date"`
		GoLiveAfter *time.Time `json:"go_live_after"`
		GoLive      *time.Time `json:"go_live"`
	}
	loopRelationships struct {
		Plans struct {
			Links struct {
				Related string `json:"related"`
				Self    string `json:"self"`
			} `json:"links"`
			Data struct {
				Type string `json:"type"`
				ID   string `json:"id"`
			} `json:"data"`
		} `json:"plans"`
	}
	loopSubscription struct {
		ID         string `json:"id"`
		Type       string `json:"type"`
		Attributes struct {
			ExternalRef string `json:"external_ref"`
			AccountID   string `json:"account_id"`
			AddressID   string `json:"address_id"`
			Offering    struct {
				ID         string `json:"id"`
				Type       string `json:"type"`
				Attributes struct {
					ExternalRef string    `json:"external_ref"`
					Name        string    `json:"name"`
					Description string    `json:"description"`
					UpdatedAt   time.Time `json:"updated_at"`
					CreatedAt   time.Time `json:"created_at"`
				} `json:"attributes"`
				Relationships loopRelationships `json:"relationships"`
				Meta          struct {
					ExternalProductRefs []string       `json:"external_product_refs"`
					Owner               string         `json:"owner"`
					Timestamps          loopTimestamps `json:"timestamps"`
				} `json:"meta"`
			} `json:"offering"`
			PlanID           string            `json:"plan_id"`
			Currency         string            `json:"currency"`
			PaymentAuthority map[string]string `json:"payment_authority"`
		} `json:"attributes"`
		Relationships loopRelationships `json:"relationships"`
		Meta          struct {
			Owner      string         `json:"owner"`
			Timestamps loopTimestamps `json:"timestamps"`
			Status     string         `json:"status"`
			State      struct {
				ID         string `json:"id"`
				Type       string `json:"type"`
				Attributes struct {
					Action string `json:"action"`
				} `json:"attributes"`
				Meta struct {
					CreatedAt time.Time `json:"created_at"`
				} `json:"meta"`
			} `json:"state"`
			ManualPayments bool      `json:"manual_payments"`
			Canceled       bool      `json:"canceled"`
			Paused         bool      `json:"paused"`
			Closed         bool      `json:"closed"`
			Suspended      bool      `json:"suspended"`
			Pending        bool      `json:"pending"`
			InvoiceAfter   time.Time `json:"invoice_after"`
		} `json:"meta"`
	}
	loopPrices map[string]struct {
		Amount      float64 `json:"amount"`
		IncludesTax bool    `json:"includes_tax"`
	}
	loopMoney struct {
		Amount    float64 `json:"amount"`
		Currency  string  `json:"currency"`
		Formatted string  `json:"formatted"`
	}
	loopDisplayPrice struct {
		WithoutTax loopMoney `json:"without_tax"`
		WithTax    loopMoney `json:"with_tax"`
	}
	loopPlan struct {
		ID         string `json:"id"`
		Type       string `json:"type"`
		Attributes struct {
			ExternalRef         string     `json:"external_ref"`
			Name                string     `json:"name"`
			Description         string     `json:"description"`
			BillingIntervalType string     `json:"billing_interval_type"`
			BillingFrequency    float64    `json:"billing_frequency"`
			TrialPeriod         float64    `json:"trial_period"`
			PlanLength          float64    `json:"plan_length"`
			EndBehavior         string     `json:"end_behavior"`
			CanPause            bool       `json:"can_pause"`
			CanResume           bool       `json:"can_resume"`
			CanCancel           bool       `json:"can_cancel"`
			BasePricePercentage float64    `json:"base_price_percentage"`
			FixedPrice          loopPrices `json:"fixed_price"`
			UpdatedAt           time.Time  `json:"updated_at"`
			CreatedAt           time.Time  `json:"created_at"`
		} `json:"attributes"`
		Relationships loopRelationships `json:"relationships"`
		Meta          struct {
			Price        loopPrices       `json:"price"`
			DisplayPrice loopDisplayPrice `json:"display_price"`
			ActivePlan   bool             `json:"active_plan"`
			Owner        string           `json:"owner"`
			Timestamps   loopTimestamps   `json:"timestamps"`
		} `json:"meta"`
	}
	loopProduct struct {
		ID         string `json:"id"`
		Type       string `json:"type"`
		Attributes struct {
			ExternalRef string     `json:"external_ref"`
			Name        string     `json:"name"`
			Description string     `json:"description"`
			SKU         string     `json:"sku"`
			MainImage   string     `json:"main_image"`
			Price       loopPrices `json:"price"`
			PriceUnits  struct {
				Unit   string  `json:"unit"`
				Amount float64 `json:"amount"`
			} `json:"price_units"`
			UpdatedAt time.Time `json:"updated_at"`
			CreatedAt time.Time `json:"created_at"`
		} `json:"attributes"`
		Relationships loopRelationships `json:"relationships"`
		Meta          struct {
			DisplayPrice loopDisplayPrice `json:"display_price"`
			Owner        string           `json:"owner"`
			Timestamps   loopTimestamps   `json:"timestamps"`
		} `json:"meta"`
	}
)
