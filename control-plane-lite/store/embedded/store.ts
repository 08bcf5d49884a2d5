/** Embedded store in an SQLite database on this machine's disk, in a thread of its own that waits for the
 *  disk. Only one process at a time has it open; others can copy it (`backupStore`). */
import type { Store } from '../contract.ts';
import { type FailureOptions, startStore } from '../thread/start.ts';
import { threadOf } from './task.ts';

export interface EmbeddedStoreOptions extends FailureOptions {
  /** A folder for the store alone; created if it doesn't exist. */
  readonly dir: string;
  /** Whether to read the whole file and check it for damage before serving it; true unless given. */
  readonly check?: boolean;
  /** Longest value in bytes; 64 MiB unless given. */
  readonly maxValueBytes?: number;
}

/** Far above the JSON of any object that is admitted: 1.5 MiB of control characters have 9 MiB of it. */
const MAX_VALUE_BYTES = 64 * 1024 * 1024;

/** While the thread is busy with one batch and has the next at hand, writes are gathered: few large messages
 *  and transactions cost both threads less than many small ones, and no write waits longer for it. */
const MAX_IN_FLIGHT = 2;

/** Opens the store; creates it if it doesn't exist.
 *  @throws StoreError: `corrupt`, with advice on how to restore; `unavailable` if another process has it or a
 *  newer version of this program created it; `readOnly`, `noSpace` */
export async function createEmbeddedStore(options: EmbeddedStoreOptions): Promise<Store> {
  const { dir, check = true, maxValueBytes = MAX_VALUE_BYTES, ...observers } = options;
  const { store, ready } = startStore({
    ...threadOf({ task: 'serve', dir, check, maxValueBytes }),
    ...observers,
    isShared: false,
    revisionStep: 1,
    maxInFlight: MAX_IN_FLIGHT,
  });
  await ready;
  return store;
}
