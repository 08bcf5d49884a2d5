/** Fixture of the eviction tests: an agent with a short housekeeping interval, greedy pods, and their
 *  results. */
import type { Event, Pod } from '#api/gen/core-v1.ts';
import { TestAgent } from '../../testing/agent.ts';
import type { TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import type { ShortNode } from './shortages.ts';

/** Housekeeping every second, and a transition period of two. */
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

/** Name of a pod of a manifest, without the suffix of the node. */
const plain = (name: string): string => name.replace(/-n1$/, '');

/** The node of an agent with pods applied through its API: static pods are never evicted. */
export function shortNode(agent: TestAgent): ShortNode {
  const looks = { timeoutMs: 40_000, intervalMs: 50 };
  return {
    looks,
    run: (pod) => agent.apply(JSON.stringify(pod)),
    async said(name, text) {
      const logs = async (): Promise<unknown> => agent.get(`/containerLogs/default/${name}/c`);
      await eventually(async () => String(await logs()).includes(text), {
        ...looks,
        what: `${name} says ${text}`,
      });
    },
    pods: async () =>
      (await agent.pods()).map((pod) => ({
        ...pod,
        metadata: { ...pod.metadata, name: plain(pod.metadata?.name ?? '') },
      })),
    events: async () =>
      (await agent.events()).map((event) => ({
        ...event,
        involvedObject: { ...event.involvedObject, name: plain(event.involvedObject.name ?? '') },
      })),
  };
}

/** Waits for an event about the node. */
export const nodeTells = (agent: TestAgent, reason: string): Promise<Event> =>
  eventually(
    async () => {
      const all = await agent.events();
      return all.find((one) => one.involvedObject.kind === 'Node' && one.reason === reason);
    },
    { timeoutMs: 20_000, what: `the node reports ${reason}` },
  );
