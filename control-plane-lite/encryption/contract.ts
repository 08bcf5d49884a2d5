/** Contract of encryption at rest. A stored value is the prefix of its transformer, then what the transformer
 *  made of the value. Both are upstream's, so that either program reads the values of the other. */

/** A result that is available at once, unless another program has to be called. */
export type Eventual<T> = T | Promise<T>;

/** Encrypts with one key, and decrypts what it has encrypted. */
export interface Transformer {
  /** Prefix of its values; empty: they are not encrypted. */
  readonly prefix: string;
  /** @param context the storage key, which is authenticated together with the value
   *  @throws StoreError `unavailable` */
  seal(value: Buffer, context: Buffer): Eventual<Buffer>;
  /** @throws StoreError `unavailable`, or any other error if the value was not written with this key */
  open(sealed: Buffer, context: Buffer): Eventual<Buffer>;
  /** Origin of a value with its prefix: the prefix, with the id of the remote key if there is one. */
  originOf(sealed: Buffer): string;
  /** Whether values that it writes now have this origin, as far as it knows. */
  isCurrent(origin: string): boolean;
}

/** Encryption with a local key. */
export interface Cipher {
  seal(value: Buffer, context: Buffer): Buffer;
  /** @throws Error if it was not sealed with this key and, where it is authenticated, this context */
  open(sealed: Buffer, context: Buffer): Buffer;
}

/** Transformers of the resources of one kind: the first one writes, all of them read. */
export type Chain = readonly [Transformer, ...Transformer[]];

/** A key management service. */
export interface KmsProvider {
  /** @throws Error if it cannot encrypt and decrypt */
  check(): Promise<void>;
  close(): void;
}

/** The keys of one configuration file. */
export interface Keyring {
  /** By the prefix of their storage keys. */
  readonly chains: ReadonlyMap<string, Chain>;
  readonly kms: readonly KmsProvider[];
}
