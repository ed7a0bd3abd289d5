// Made by .ci/packages/types.mjs from what `epcommerce serve --openapi` prints.

export type Operation = 'accounts' | 'add' | 'add item' | 'add item discount' | 'cart' | 'cart settings'
  | 'change state' | 'checkout' | 'create cart' | 'currencies' | 'delete cart'
  | 'delete discount' | 'delete discounts' | 'delete item' | 'delete items' | 'features'
  | 'get cart settings' | 'invoices' | 'items' | 'list' | 'order' | 'orders' | 'plans'
  | 'pricing options' | 'products' | 'settings' | 'state' | 'states' | 'subscribers'
  | 'subscription' | 'token' | 'update cart' | 'update discount' | 'update item'

export type State = 'in_progress' | 'late' | 'ended'

export interface Fault {
  /**
   * the requests that it is for, e.g. "add"; without it, all. accounts: GET /v2/accounts; add: POST
   * /v2/carts/{cart}/custom-discounts; add item: POST /v2/carts/{cart}/items; add item discount: POST
   * /v2/carts/{cart}/items/{item}/custom-discounts; cart: GET /v2/carts/{cart}; cart settings: PUT
   * /v2/settings/cart; change state: POST /v2/subscriptions/subscriptions/{subscription}/states;
   * checkout: POST /v2/carts/{cart}/checkout; create cart: POST /v2/carts; currencies: GET
   * /v2/currencies; delete cart: DELETE /v2/carts/{cart}; delete discount: DELETE
   * /v2/carts/{cart}/custom-discounts/{discount} and DELETE
   * /v2/carts/{cart}/items/{item}/custom-discounts/{discount}; delete discounts: DELETE
   * /v2/carts/{cart}/custom-discounts; delete item: DELETE /v2/carts/{cart}/items/{item}; delete items:
   * DELETE /v2/carts/{cart}/items; features: GET
   * /v2/subscriptions/subscriptions/{subscription}/features; get cart settings: GET /v2/settings/cart;
   * invoices: GET /v2/subscriptions/invoices; items: GET /v2/carts/{cart}/items; list: GET
   * /v2/subscriptions/subscriptions; order: GET /v2/orders/{order}; orders: GET /v2/orders; plans: GET
   * /v2/subscriptions/subscriptions/{subscription}/plans; pricing options: GET
   * /v2/subscriptions/subscriptions/{subscription}/pricing-options; products: GET
   * /v2/subscriptions/subscriptions/{subscription}/products; settings: GET /v2/settings; state: GET
   * /v2/subscriptions/subscriptions/{subscription}/states/{state}; states: GET
   * /v2/subscriptions/subscriptions/{subscription}/states; subscribers: GET
   * /v2/subscriptions/subscribers; subscription: GET /v2/subscriptions/subscriptions/{subscription};
   * token: POST /oauth/access_token; update cart: PUT /v2/carts/{cart}; update discount: PUT
   * /v2/carts/{cart}/custom-discounts/{discount} and PUT
   * /v2/carts/{cart}/items/{item}/custom-discounts/{discount}; update item: PUT
   * /v2/carts/{cart}/items/{item}
   */
  operation?: Operation
  /** number of requests that it leaves alone first */
  after?: number
  /** number of requests that meet it (default 1) */
  times?: number
  /**
   * true: the request takes effect before the response. Without it, a request that gets no response, or
   * the `status` of the fault, has no effect
   */
  apply?: boolean
  /**
   * true: the request takes effect after the `delay`, 2 seconds if there is none, even if the client has
   * gone. With `status` or `cut`, the response comes at once
   */
  late?: boolean
  /** of the response: 200 to 599 */
  status?: number
  /** true: the connection is closed instead of a response; a `status` is sent only with `cut_after` */
  cut?: boolean
  /**
   * with `cut`: number of bytes of the body that are sent before; with `status`, of the `body` of the
   * fault
   */
  cut_after?: number
  /** true: all requests meet it */
  always?: boolean
  /** before the response, e.g. "2s" or "500ms" */
  delay?: string
  /** of the response, e.g. {"Retry-After":"2"}; a value is a text or a list of texts */
  header?: Record<string, string | string[]>
  /**
   * of the response: a text as it is, other JSON as JSON. Without it, the body of the store, or what the
   * service or a gateway sends with the status; "" sends none
   */
  body?: unknown
  /** selects some of these requests; one must fit all members, of which one at least is set */
  match?: Match
}

export interface Match {
  /** such as /v2/carts/*\/items/{item}: * or a name in braces is one part between slashes */
  path?: string
  /** id */
  cart?: string
  /** id, in the path, the query or the body */
  account?: string
  /** of the request, e.g. {"X-Worker":"7"} */
  header?: Record<string, string>
  /** a part of it */
  body?: string
}

export interface CartFixture {
  /**
   * a list such as [{"type":"cart_item","price":2500,"quantity":2},{"type":"custom_item"}]; [] is an
   * empty cart
   */
  items?: ItemFixture[]
  /** false: the cart takes no custom discounts before a request enables them, as in the service */
  discounts_enabled?: boolean
  /** true: it has a promotion of the store, which excludes custom discounts */
  promotion?: boolean
  /** code of one of the store; default: that of the store */
  currency?: string
  /** that it has already, as requests have them; they may be there twice, or beyond the limit */
  discounts?: DiscountFixture[]
}

export interface ItemFixture {
  /** cart_item (default) or custom_item */
  type?: 'cart_item' | 'custom_item'
  /** UUID; default: a new one */
  id?: string
  /** of the product */
  name?: string
  /** of one piece, in the smallest unit of the currency; 0: it is free; default 10000 */
  price?: number
  /** default 1 */
  quantity?: number
  /** tax on the item; default: that of the store */
  tax_percent?: number
}

export interface DiscountFixture {
  amount?: number
  description?: string
  discount_code?: string
  discount_engine?: string
  external_id?: string
  id?: string
  relationships?: {
    item?: {
      /** as the service has it */
      data?: {
        id?: string
        type?: string
      }
    }
  }
  type?: string
}

export interface SubscriptionFixture {
  /** of subscriptions to add (default 1) */
  number?: number
  /**
   * active (default), canceled, canceled_at_once, closed (because payments failed), paused, pending,
   * resumed or suspended
   */
  state?: string
  /** such as GBP; the plans have prices in USD (default), GBP and EUR */
  currency?: string
  /** UUID of a plan; default: all in turn */
  plan_id?: string
  /** UUID of the owner; default: accounts with up to three subscriptions each */
  account_id?: string
}

export interface Stub {
  /** of the requests, such as GET */
  method?: string
  /** of the requests; * or a name in braces is one part between slashes, such as /v2/returns/{id} */
  path?: string
  /** of the response (default 200) */
  status?: number
  /** of the response, e.g. {"Retry-After":"2"}; a value is a text or a list of texts */
  header?: Record<string, string | string[]>
  /**
   * of the response: a text as it is, other JSON as JSON. Without it, the body of the store, or what the
   * service or a gateway sends with the status; "" sends none
   */
  body?: unknown
}

export interface Settings {
  /** of the payload of subscriptions: second or first */
  generation?: 'second' | 'first'
  /** how long a token is valid that the store issued, e.g. "30s"; default 1h */
  token_life?: string
  /** number of subscriptions on a page if the request does not say; default 25 */
  page_length?: number
  /** how links of lists are sent: strings (default), objects, without_next or none */
  links?: 'strings' | 'objects' | 'without_next' | 'none'
  /** number of records that a page has at most, whatever the request says; default 100 */
  max_page?: number
  /** 5: GET /v2/accounts leaves out each fifth account that has subscriptions; default 0, none */
  unlisted_accounts?: number
  /** of a response that confirms discounts: 201 (default) or 200 */
  add_status?: number
  /** true: new carts take custom discounts */
  discounts_enabled?: boolean
  /** true: promotions of the store stay on a cart for which custom discounts are enabled */
  promotions_stay?: boolean
  /** true: promotions of the store have no promotion_source, and stay on such a cart */
  standard_promotions?: boolean
  /** codes of promotions that carts take, such as [{"code":"SAVE"}]; default: none */
  promotion_codes?: {
    /** as a shopper sends it */
    code?: string
    /**
     * true: the promotion is of Promotions Standard, and not of the Promotions Builder, whose codes make
     * new carts use rule promotions
     */
    standard?: boolean
  }[]
  /** true: amounts of discounts need not be whole numbers */
  fractional_amounts?: boolean
  /** how lists of a cart are sent that are empty: as_printed (default), left_out, null or arrays */
  empty_lists?: 'as_printed' | 'left_out' | 'null' | 'arrays'
  /** true: carts that are read have an error beside their data */
  errors_beside_carts?: boolean
  /**
   * true: the prices of carts have neither discount nor without_discount, and items have no
   * display_price
   */
  bare_prices?: boolean
  /** of the store, with USD or else the first as the default; default: EUR, USD, GBP, JPY and KWD */
  currencies?: {
    /** three letters */
    code?: string
    /** number of digits after the point */
    decimal_places?: number
    /** of a price, with {price}; default: {price} and the code */
    format?: string
    /** default "." */
    decimal_point?: string
    /** default "," */
    thousand_separator?: string
    /** shown only; default 1 */
    exchange_rate?: number
  }[]
  /** of totals: line (default) or simple, which takes no custom discounts */
  calculation_method?: 'line' | 'simple'
  /** tax on each item after all discounts, such as 7.25; default 0 */
  tax_percent?: number
  /** true: the prices of items include the tax; discounts are still taken off before it */
  prices_include_tax?: boolean
  /** true: a cart whose discounts are more than its prices costs 0 */
  totals_not_below_zero?: boolean
  /** true: the amount of a discount of an item is taken off for each piece */
  amount_per_piece?: boolean
  /** what the shipping group of each cart with items costs, in its totals; default 0, without a group */
  shipping?: number
  /** how long after a change the totals of a cart are those of before, e.g. "2s" */
  totals_lag?: string
  /** number of discounts on a cart, -1 for none; default 5 */
  cart_discount_limit?: number
  /** number of discounts on an item, -1 for none; default 5 */
  item_discount_limit?: number
  /** number of requests a second; more get a 429; 0: no limit */
  rate_limit?: number
  /** number of requests at once after a time without any; default: rate_limit */
  rate_burst?: number
  /** of a 429, e.g. "2s"; default: none */
  retry_after?: string
  /** true: a subscription that is canceled at once is closed too, and not only canceled and inactive */
  close_at_once?: boolean
  /** true: a resume leaves a subscription suspended or closed; the store makes no payments */
  flags_follow_payment?: boolean
  /** true: of two writes to a cart that overlap, one is lost, as in the service */
  lose_overlapping_writes?: boolean
  /** number of subscriptions at the start */
  subscriptions?: number
  /** of the namespace */
  name?: string
}

export interface RequestFilter {
  /** only requests about the cart with this id */
  cart?: string
  /** only requests of this one */
  operation?: Operation
  /** only requests after the one with this id */
  since?: string
  /** only requests in this state */
  state?: State
}

export interface WaitFilter {
  /** only requests about the cart with this id */
  cart?: string
  /** how many requests to wait for that have a response, or the state; default 1 */
  count?: number
  /** only requests of this one */
  operation?: Operation
  /** wait too until at most this number of them is pending, such as 0 */
  pending?: number
  /** only requests after the one with this id */
  since?: string
  /** only requests in this state */
  state?: State
  /** how long to wait at most, e.g. "2s"; default 10s, at most 1m */
  timeout?: string
}

export interface Money {
  amount: number
  currency?: string
  formatted: string
}

export interface Item {
  /** cart_item (default) or custom_item */
  type: 'cart_item' | 'custom_item'
  /** its own */
  id: string
  /** of the product */
  name: string
  /** of pieces */
  quantity: number
  /** of one piece */
  price: Money
}

export interface Discount {
  /** as the service has it */
  amount: Money
  description: string
  discount_code: string
  discount_engine: string
  external_id: string
  id: string
  relationships?: {
    item: {
      /** as the service has it */
      data: {
        id: string
        type: string
      }
    }
  }
  type: string
}

export interface CartContent {
  /** of the cart */
  items: Item[]
  /** custom discounts of the cart and of its items */
  discounts: Discount[]
  /** what the cart costs, with tax */
  total: Money
}

export interface Cart {
  /** its own */
  id: string
  /** of the cart */
  items: Item[]
  /** custom discounts of the cart and of its items */
  discounts: Discount[]
  /** what the cart costs, with tax */
  total: Money
}

export interface StoreRequest {
  /** the X-Request-Id of the response */
  id: string
  /** the name of it */
  namespace: string
  /** of HTTP */
  method: string
  /** percent-encoded, as it was sent */
  path: string
  /** the parameters; credentials are redacted */
  query: Record<string, string[]>
  /**
   * of the request; credentials are redacted, which are signed tokens (JWT), and the values of names
   * with auth, cookie, token, secret, passw, session, signature, credential, api key or access key
   */
  header: Record<string, string[]>
  /** the JSON that was sent; null: none, or to an endpoint that the store does not have, or for a token */
  body: any
  /** empty: an endpoint that the store does not have */
  operation: Operation | ''
  /**
   * in_progress (no response yet), late (the response was sent or lost, and the request takes effect
   * later) or ended
   */
  state: State
  /** of the response; 0: none was sent */
  status: number
  /** the JSON that was sent back, like body */
  response: any
  /** the number of the fault that the request met; 0: none */
  fault: number
  /** the cart before the request changed it; absent: it changed none */
  before?: CartContent
  /** the cart after the request changed it */
  after?: CartContent
  /** of arrival */
  time: string
  /** from the arrival to the response, in milliseconds */
  duration_ms: number
}
