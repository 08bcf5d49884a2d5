/** Sequential tests, each of which depends on those before it: after a failure the others could only time
 *  out. */
import { afterEach, beforeEach } from 'vitest';
import type { VmNode } from './node.ts';

/** Fails tests after a failed one at once, and prints the node's logs. */
export function oneAfterAnother(node: () => VmNode): void {
  let broken: string | undefined;
  beforeEach(() => {
    if (broken !== undefined) throw new Error(`not tried, as this failed: ${broken}`);
  });
  afterEach(async ({ task }) => {
    if (task.result?.state !== 'fail' || broken !== undefined) return;
    broken = task.name;
    console.error(await node().journal());
  });
}
