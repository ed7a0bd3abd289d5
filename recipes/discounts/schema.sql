-- What carts should have. For SQLite and PostgreSQL. Times are in milliseconds since 1970.
CREATE TABLE cart_discounts (
	cart         TEXT   NOT NULL PRIMARY KEY,
	wish         TEXT   NOT NULL,           -- JSON of []commerce.NewCustomDiscount
	version      BIGINT NOT NULL DEFAULT 1, -- grows whenever the cart has to be looked at
	done_version BIGINT NOT NULL DEFAULT 0, -- the row is open if it is not the version
	tries        BIGINT NOT NULL DEFAULT 0, -- that failed, since the wish changed
	next_try     BIGINT NOT NULL DEFAULT 0, -- not before this time
	busy_until   BIGINT NOT NULL DEFAULT 0, -- until then, only one worker may write to the cart
	changed_at   BIGINT NOT NULL,           -- when the wish changed
	problem      TEXT   NOT NULL DEFAULT '' -- why the last try failed, for support: may hold customers' data
);

CREATE INDEX cart_discounts_open ON cart_discounts (next_try) WHERE version <> done_version;
