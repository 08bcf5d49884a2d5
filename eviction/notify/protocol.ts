/** Messages between the agent and the thread that waits for the kernel. */
import type { MemoryWatch } from './watches.ts';

/** Read by the thread after its descriptor was written to. */
export type ToWaiter =
  | { readonly kind: 'watch'; readonly watches: readonly MemoryWatch[] }
  | { readonly kind: 'end' };

export type FromWaiter =
  /** Writing a number to this descriptor wakes the thread. */
  | { readonly kind: 'ready'; readonly wakeFd: number }
  | { readonly kind: 'crossed' }
  | { readonly kind: 'failed'; readonly watch: MemoryWatch; readonly error: Error };
