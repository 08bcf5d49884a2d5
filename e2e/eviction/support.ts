/** What the tests of eviction share: an agent that looks often, pods that use much, and what became of them. */
import type { Event, Pod } from '#api/schema/gen/core-v1.ts';
import { TestAgent } from '../../testing/agent.ts';
import type { TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';

/** Looks each second, and leaves a condition after two. */
export const QUICK: readonly string[] = [
  '--housekeeping-interval=1s',
  '--eviction-pressure-transition-period=2s',
];

export interface EvictionBench {
  readonly endpoint: string;
  readonly flags: readonly string[];
  readonly folder?: TempDir;
}

export const startAgent = ({ endpoint, flags, folder }: EvictionBench): Promise<TestAgent> =>
  TestAgent.create({
    endpoint,
    flags: [...QUICK, ...flags],
    ...(folder === undefined ? {} : { folder }),
  });

export const isEvicted = ({ status }: Pod): boolean =>
  status?.phase === 'Failed' && status.reason === 'Evicted';

/** Names of pods in the order in which they were evicted, without the node's suffix. */
export async function evicted(agent: TestAgent): Promise<readonly string[]> {
  const events = (await agent.events()).filter(({ reason }) => reason === 'Evicted');
  return events.toSorted(byTime).map(({ involvedObject }) => (involvedObject.name ?? '').replace(/-n1$/, ''));
}

const byTime = (one: Event, other: Event): number =>
  Date.parse(one.firstTimestamp ?? '') - Date.parse(other.firstTimestamp ?? '');

/** Waits for an event about the node. */
export const nodeTells = (agent: TestAgent, reason: string): Promise<Event> =>
  eventually(
    async () => {
      const all = await agent.events();
      return all.find((one) => one.involvedObject.kind === 'Node' && one.reason === reason);
    },
    { timeoutMs: 20_000, what: `the node tells ${reason}` },
  );
