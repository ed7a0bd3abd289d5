/// <reference lib="esnext.disposable" />

import type { Cart, CartFixture, Fault, RequestFilter, Settings, StoreRequest, WaitFilter } from './store.js'

export type * from './store.js'

export interface StartOptions {
  /** Address of a store that runs already, e.g. in a container. Without it, a store is started. */
  url?: string | undefined
  /** Token of a namespace: of the store at url (default: the first), or of the one that is started. */
  token?: string | undefined
  /** Flags of `epcommerce serve` for a store that is started, such as ['--subscriptions', '10', '--tls']. */
  args?: string[] | undefined
}

/**
 * Starts a store, or uses one that runs. A store that is started ends with this process, also if nobody
 * stops it.
 */
export function startStore(options?: StartOptions): Promise<Store>

/** A store. The members of its values are those of HTTP. */
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
