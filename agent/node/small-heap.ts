/** Heap settings of the agent: a small young generation and compact code, as in the systemd unit, for agents
 *  that are started in other ways. V8's defaults suit a program that owns its machine. */
import { setFlagsFromString } from 'node:v8';

/** V8 reads the size of the young generation only at start; its growth can still be disabled. */
const SETTINGS = ['--semi-space-growth-factor=1', '--optimize-for-size'];
const OF_THE_HEAP =
  /^--(?:max-semi-space-size|min-semi-space-size|semi-space|optimize-for-size|max-old-space-size)/;

/** Call before the agent is loaded: a young generation that has grown stays large for a while.
 *  @param flags flags of the Node process; heap flags among them take precedence */
export function keepHeapSmall(
  flags: readonly string[],
  set: (flag: string) => void = setFlagsFromString,
): void {
  if (flags.some((flag) => OF_THE_HEAP.test(flag.replaceAll('_', '-')))) return;
  for (const setting of SETTINGS) set(setting);
}
