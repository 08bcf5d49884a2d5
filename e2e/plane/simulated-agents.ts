/** Simulated node agents: pods start, end as the test decides, and are removed once they are deleted. Nodes are mere
 *  objects. */
import type { Body, Client, Json, WatchEvent, WatchStream } from './support.ts';
import { STRATEGIC } from './support.ts';

export type Play = 'Running' | 'Succeeded' | 'Failed' | 'Pending';

export interface SimulatedAgents extends AsyncDisposable {
  /** Sets the function that decides the phase of each new pod; `Running` by default. */
  readonly decide: (decide: (pod: Body) => Play) => void;
}

export const phaseOf = ({ status }: Body): string => status['phase'] as string;

export const isGoing = ({ metadata }: Body): boolean => metadata.deletionTimestamp !== undefined;

export const isReady = ({ status }: Body): boolean =>
  ((status['conditions'] ?? []) as readonly { type: string; status: string }[]).some(
    ({ type, status: value }) => type === 'Ready' && value === 'True',
  );

/** Events of a watch that is restarted whenever its stream ends: each time with the state first. */
export async function* eventsOf(
  client: Client,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  while (!signal.aborted) {
    await using stream: WatchStream = await client.watch(`${path}?watch=1`);
    const close = (): void => stream.close();
    signal.addEventListener('abort', close, { once: true });
    // It may have fired while the watch was opened.
    if (signal.aborted) close();
    for (;;) {
      const event = await stream.next().catch(() => undefined);
      if (event === undefined) break;
      yield event;
    }
    signal.removeEventListener('abort', close);
  }
}

function statusOf(play: Play): Json {
  const since = { lastTransitionTime: new Date(Date.now() - 1000).toISOString() };
  const ready = { type: 'Ready', status: play === 'Running' ? 'True' : 'False', ...since };
  return { status: { phase: play, conditions: [ready] } };
}

/** Starts simulated agents for all pods of the server. */
export function startSimulatedAgents(client: Client): SimulatedAgents {
  const controller = new AbortController();
  const played = new Set<string>();
  let decide: (pod: Body) => Play = () => 'Running';

  async function act(pod: Body): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    if (isGoing(pod)) {
      if (pod.metadata.finalizers !== undefined) return;
      await client.delete(path, { gracePeriodSeconds: 0, preconditions: { uid } });
      return;
    }
    // Events that were under way still show it as it was.
    if (phaseOf(pod) !== 'Pending' || uid === undefined || played.has(uid)) return;
    const play = decide(pod);
    if (play === 'Pending') return;
    played.add(uid);
    await client.patch(`${path}/status`, statusOf(play), STRATEGIC);
  }

  async function run(): Promise<void> {
    for await (const { type, object } of eventsOf(client, '/api/v1/pods', controller.signal)) {
      if (type !== 'DELETED') await act(object);
    }
  }

  const running = run();
  return {
    decide(next) {
      decide = next;
    },
    async [Symbol.asyncDispose]() {
      controller.abort();
      await running;
    },
  };
}
