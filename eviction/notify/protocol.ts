/** What the agent and the thread that waits for the kernel say to each other. */
import type { MemoryWatch } from './watches.ts';

/** Read by the thread after a number was written to its descriptor. */
export type ToWaiter =
  | { readonly kind: 'watch'; readonly watches: readonly MemoryWatch[] }
  | { readonly kind: 'end' };

export type FromWaiter =
  /** A number written to this descriptor wakes the thread. */
  | { readonly kind: 'ready'; readonly wakeFd: number }
  | { readonly kind: 'crossed' }
  | { readonly kind: 'failed'; readonly watch: MemoryWatch; readonly error: Error };
