/** Heap settings of an agent: a small young generation and compact code, as the unit has them, for an agent that is started
 *  in another way. V8's own settings suit a program that has its machine to itself. */
import { setFlagsFromString } from 'node:v8';

/** V8 reads the size of the young generation only when it starts; that it doubles as it fills can still be turned off. */
const SETTINGS = ['--semi-space-growth-factor=1', '--optimize-for-size'];
const OF_THE_HEAP =
  /^--(?:max-semi-space-size|min-semi-space-size|semi-space|optimize-for-size|max-old-space-size)/;

/** Call before the agent is loaded: a young generation that has grown stays so for a while.
 *  @param flags flags that Node was started with; flags for the heap among them are left alone */
export function keepHeapSmall(
  flags: readonly string[],
  set: (flag: string) => void = setFlagsFromString,
): void {
  if (flags.some((flag) => OF_THE_HEAP.test(flag.replaceAll('_', '-')))) return;
  for (const setting of SETTINGS) set(setting);
}
