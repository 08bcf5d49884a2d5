/** Types shared by all generated protocol files. */

/** Input of an encoder: every field is optional, at any depth. */
export type MessageInput<T> = T extends Uint8Array
  ? Uint8Array
  : T extends readonly (infer Element)[]
    ? readonly MessageInput<Element>[]
    : T extends object
      ? { readonly [K in keyof T]?: MessageInput<T[K]> | undefined }
      : T;

export interface CallOptions {
  /** Cancels the call; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Timeout of the call in ms; each client has a default per method. 0 means none. */
  readonly timeoutMs?: number;
}
