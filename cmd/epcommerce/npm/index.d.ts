/// <reference lib="esnext.disposable" />

export interface StartOptions {
  /** Address of a store that runs already, e.g. in a container. Without it, a store is started. */
  url?: string
  /** Token of a namespace: of the store at url (default: the first), or of the one that is started. */
  token?: string
  /** Flags of `epcommerce serve`, such as ['--subscriptions', '10', '--tls']. */
  args?: string[]
}

/**
 * Starts a store, or uses one that runs. A store that is started ends with this process, also if nobody
 * stops it.
 */
export function startStore(options?: StartOptions): Promise<Store>

/** A store. A member of its values has the name and the form that it has in HTTP, as docs/tool-serve.md lists them. */
export interface Store {
  readonly url: string
  readonly token: string
  readonly clientId: string
  readonly clientSecret: string
  /** For the header EP-Account-Management-Authentication-Token. */
  readonly accountToken: string
  /** With --tls: path of the file that clients must trust. */
  readonly certificate?: string

  /** Adds a cart. */
  cart(fixture?: CartFixture): Promise<Cart>
  /** Returns all carts. */
  carts(): Promise<Cart[]>
  /** Injects a fault, and returns its number. */
  fault(fault: Fault): Promise<number>
  /** Returns the requests that the store got, the oldest first. */
  requests(filter?: RequestFilter): Promise<StoreRequest[]>
  /** Waits until requests have a response. If they do not come in time, the error says what came. */
  wait(filter?: WaitFilter): Promise<StoreRequest[]>
  /** Adds a store of its own, with its own carts, faults and requests. */
  namespace(settings?: Settings): Promise<Store>
  /** Sends another request to what drives the store, e.g. control('POST', 'stubs', { … }), and returns its JSON. */
  control(method: string, path: string, body?: unknown): Promise<any>
  /**
   * Ends the process, or removes the namespace, or the faults of a store that ran before. Then it throws an error
   * with a line for each fault and stub that was not met, and for each request that is pending.
   */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** What a request meets. It has at least one of status, cut, late, delay, body and header. */
export interface Fault {
  /** The requests that it is for, e.g. 'add'; without it, all. */
  operation?: string
  /** Selects some of these requests: those that fit all members. */
  match?: Match
  /** Number of requests that it leaves alone first. */
  after?: number
  /** Number of requests that meet it (default 1). */
  times?: number
  /** true: all requests meet it. */
  always?: boolean
  /** true: the request takes effect before the response. */
  apply?: boolean
  /** true: the request takes effect after the delay, even if the client has gone. */
  late?: boolean
  /** Before the response, e.g. '2s' or '500ms'. */
  delay?: string
  status?: number
  header?: Record<string, string | string[]>
  /** Of the response: a text as it is, other JSON as JSON; '' sends none. */
  body?: unknown
  /** true: the connection is closed instead of a response. */
  cut?: boolean
  /** With cut: number of bytes of the body that are sent before. */
  cut_after?: number
}

export interface Match {
  /** * or a name in braces is one part between slashes. */
  path?: string
  cart?: string
  /** Id, in the path, the query or the body. */
  account?: string
  header?: Record<string, string>
  /** A part of the body. */
  body?: string
}

export interface CartFixture {
  /** Default: an item of each kind. */
  items?: ItemFixture[]
  /** That it has already, as requests have them. */
  discounts?: object[]
  /** Of its prices, such as 'GBP'; default: that of the store. */
  currency?: string
  /** false: the cart takes no custom discounts before a request enables them. */
  discounts_enabled?: boolean
  /** true: it has a promotion of the store, which excludes custom discounts. */
  promotion?: boolean
}

export interface ItemFixture {
  type?: 'cart_item' | 'custom_item'
  id?: string
  name?: string
  /** Of one piece. */
  price?: number
  quantity?: number
  tax_percent?: number
}

/** Such as { name: 'worker-1', rate_limit: 2 }. */
export type Settings = { name?: string } & Record<string, unknown>

export interface Money {
  amount: number
  currency: string
  formatted: string
}

export interface CartContent {
  items: Item[]
  discounts: Discount[]
  total: Money
}

export interface Cart extends CartContent {
  id: string
}

export interface Item {
  id: string
  type: 'cart_item' | 'custom_item'
  name: string
  quantity: number
  /** Of one piece. */
  price: Money
}

export interface Discount {
  id: string
  type: string
  amount: Money
  description: string
  discount_code: string
  discount_engine: string
  external_id: string
  relationships?: any
}

/** in_progress: it has no response yet; late: its write comes after its response; ended: all is done. */
export type State = 'in_progress' | 'late' | 'ended'

export interface RequestFilter {
  operation?: string
  /** Id of a cart. */
  cart?: string
  /** Id of a request: only those after it. */
  since?: string
  state?: State
}

export interface WaitFilter extends RequestFilter {
  /** Number of requests that must have a response (default 1). */
  count?: number
  /** Wait until at most so many are in progress, or write later. */
  pending?: number
  /** Such as '2s' (default '10s', at most '1m'). */
  timeout?: string
}

export interface StoreRequest {
  id: string
  namespace: string
  method: string
  path: string
  query: Record<string, string[]>
  header: Record<string, string[]>
  body: any
  /** Empty: an endpoint that the store does not have. */
  operation: string
  /** Of the response; 0: none was sent. */
  status: number
  response: any
  /** Number of the fault that it met; 0: none. */
  fault: number
  state: State
  /** The cart before the request changed it, and after it; absent: it changed none. */
  before?: CartContent
  after?: CartContent
  /** Of arrival. */
  time: string
  duration_ms: number
}
