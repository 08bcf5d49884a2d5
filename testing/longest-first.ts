/** Order of the test files: those that take longest begin first, so that none of them runs alone at the end. A fresh clone
 *  has no durations of its own, so they are listed here. */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { ROOT } from './durations.ts';

/** The longest ones, in that order. */
export const LONGEST_FILES: readonly string[] = [
  'e2e/plane/access-matrix.node.test.ts',
  'e2e/plane-fuzz/fuzz.node.test.ts',
  'e2e/cluster/cluster.node.test.ts',
  'e2e/plane-clients/garbage.node.test.ts',
  'e2e/faults/containerd-restart.node.test.ts',
  'e2e/joined/rollover.node.test.ts',
  'control-plane-lite/store/etcd/store.node.test.ts',
  'volumes/staging/faults.node.test.ts',
  'e2e/plane-clients/durability.node.test.ts',
  'e2e/faults/lost-responses.node.test.ts',
  'e2e/faults/retention.node.test.ts',
  'testing/linear/patterns.test.ts',
  'e2e/faults/agent-killed.node.test.ts',
  'e2e/plane-clients/kubectl-empty.node.test.ts',
  'e2e/faults/agent-restart.node.test.ts',
  'e2e/plane/encryption.node.test.ts',
  'e2e/plane-clients/kubectl-rollout.node.test.ts',
  'e2e/plane-history/history.node.test.ts',
  'e2e/faults/disk-full.node.test.ts',
  'e2e/lifecycle/csi.node.test.ts',
  'e2e/eviction/disk.node.test.ts',
];

const RANKS: ReadonlyMap<string, number> = new Map(LONGEST_FILES.map((file, index) => [file, index]));

/** Returns the rank of a file; those that are not listed come after all others. */
export const rankOf = (file: string): number => RANKS.get(file) ?? LONGEST_FILES.length;

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => rankOf(relative(ROOT, moduleId));
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
