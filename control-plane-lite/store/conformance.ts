/** Conformance suite of all store implementations. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { COMPACTION_CASES } from './conformance/compaction.ts';
import { RANGE_CASES } from './conformance/ranges.ts';
import { WATCH_CASES } from './conformance/watches.ts';
import { WRITE_CASES } from './conformance/writes.ts';
import type { Store } from './contract.ts';

export interface StoreSubject {
  /** An empty store. */
  readonly open: () => Promise<Store>;
  /** Seed of the random tests; a fixed one unless given. */
  readonly seed?: number;
}

const GROUPS = [
  { group: 'put, get and delete', cases: WRITE_CASES },
  { group: 'range', cases: RANGE_CASES },
  { group: 'watch', cases: WATCH_CASES },
  { group: 'compaction', cases: COMPACTION_CASES },
];

/** Describes the behaviour of a store, each test with a store of its own. */
export function describeStore({ open, seed = 42 }: StoreSubject): void {
  describe.each(GROUPS)('$group', ({ cases }) => {
    let store: Store;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());

    test.each(cases)('$name', async ({ run }) => {
      expect.hasAssertions();
      await run(store, seed);
    });
  });
}
