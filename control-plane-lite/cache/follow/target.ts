/** Target of the feed: what takes the states and changes of the store. */
import type { StoredItem, StoreEvent } from '../../store/contract.ts';
import type { Sealed } from '../state/sealed.ts';

/** Target of states and changes. */
export interface FeedTarget {
  /** A whole state follows. */
  readonly begin: () => Loading;
  readonly onEvents: (events: readonly StoreEvent[]) => void;
  readonly onProgress: (revision: number) => void;
  readonly revision: () => number;
  /** Resolves once the target has seen the revision. */
  readonly reached: (revision: number) => Promise<void>;
  /** Everything that the store contained a moment ago has been delivered. */
  readonly onSynced: () => void;
  /** Keys whose values cannot be decrypted yet. */
  readonly sealed: Sealed;
  /** Applies a value that was sealed; `undefined`: the key was deleted meanwhile. */
  readonly unseal: (key: string, item: StoredItem | undefined) => void;
}

export interface Loading {
  add(items: readonly StoredItem[]): void;
  /** The state is complete; it is that of this revision. */
  finish(revision: number): void;
}

export interface FeedOptions {
  /** Common prefix of all keys. */
  readonly prefix: string;
  /** Number of writes before the newest from which the initial state is read, so that watches from before a
   *  restart resume. More are read if the store wrote several at once. */
  readonly replayWrites: number;
  /** Prefixes of resources without which nothing may be served, because they protect the others. */
  readonly indispensable?: readonly string[];
}
