/** Load on the API server: clients that each wait for their response before the next request, and
 *  watchers. */
import { type HttpClient, type Reply, requestBytes, type Target } from './http-client.ts';
import { NAMESPACE, podBody, podName, podsPath } from './pod.ts';
import { startWatchers } from './watchers.ts';

/** The number in the performance objectives. */
export const POD_COUNT = 5000;
export const WATCHER_COUNT = 50;
/** Namespace of the same work done before the measurement, deleted afterwards. */
const WARM_UP_NAMESPACE = 'warm-up';
/** Warm-up ends with a round that is not faster than the best by this factor. */
const STILL_FASTER = 1.05;
/** Bounds the warm-up on a machine whose speed varies. */
const MAX_ROUNDS = 5;

export interface CreateFigures {
  readonly perSecond: number;
  /** Rate of the first, cold round. */
  readonly coldPerSecond: number;
  /** From the create request to its event at a watcher, 99th percentile. */
  readonly watchP99Ms: number;
  /** Error in responses or events. */
  readonly error: string | undefined;
}

export type FillFigures = Omit<CreateFigures, 'coldPerSecond'>;

export interface RateFigures {
  readonly perSecond: number;
  readonly error: string | undefined;
}

export interface Load {
  /** Creates the pods on a warm server with watchers; the first call measures, later calls return the same
   *  figures. */
  readonly create: () => Promise<CreateFigures>;
  /** Creates them on a cold server. */
  readonly fill: () => Promise<FillFigures>;
  /** Sends requests numbered from 0 from all clients to a warm server. */
  readonly send: (count: number, make: (index: number) => Buffer, status: number) => Promise<RateFigures>;
}

export interface LoadDeps {
  readonly clients: readonly HttpClient[];
  readonly target: Target;
  readonly say: (line: string) => void;
}

export function createLoad({ clients, target, say }: LoadDeps): Load {
  let created: Promise<CreateFigures> | undefined;

  async function send(
    count: number,
    make: (index: number) => Buffer,
    status: number,
    onSend: (index: number) => void = () => undefined,
  ): Promise<RateFigures> {
    // Built before the measurement: only the server is measured.
    const requests = Array.from({ length: count }, (_, index) => make(index));
    let next = 0;
    let error: string | undefined;
    const startMs = performance.now();
    await Promise.all(
      clients.map(async (client) => {
        for (let index = next++; ; index = next++) {
          const request = requests[index];
          if (request === undefined) return;
          onSend(index);
          const reply = await client.send(request);
          if (reply.status !== status) error = errorOf(reply);
        }
      }),
    );
    return { perSecond: (count * 1000) / (performance.now() - startMs), error };
  }

  async function fillAndEmpty(): Promise<FillFigures> {
    const figures = await fill(WARM_UP_NAMESPACE);
    await clients[0]?.send(requestBytes('DELETE', `${podsPath(WARM_UP_NAMESPACE)}?gracePeriodSeconds=0`));
    return figures;
  }

  async function createWarm(): Promise<CreateFigures> {
    const namespace = JSON.stringify({ metadata: { name: WARM_UP_NAMESPACE } });
    await clients[0]?.send(requestBytes('POST', '/api/v1/namespaces', namespace));
    const coldPerSecond = await warmUp(fillAndEmpty);
    return { ...(await fill(NAMESPACE)), coldPerSecond };
  }

  async function fill(namespace: string): Promise<FillFigures> {
    const path = podsPath(namespace);
    const sentMs = new Map<string, number>();
    const make = (index: number): Buffer => requestBytes('POST', path, podBody(index));
    const onSend = (index: number): void =>
      void sentMs.set(podName(index), performance.timeOrigin + performance.now());
    const watchers = await startWatchers({ target, path, count: WATCHER_COUNT, expected: POD_COUNT });
    const { perSecond, error } = await send(POD_COUNT, make, 201, onSend);
    const seen = await watchers.end();
    say(`${POD_COUNT} pods created, the last event seen`);
    const delays = seen.arrivals.flatMap(([name, atMs]) => {
      const sent = sentMs.get(name);
      return sent === undefined ? [] : atMs - sent;
    });
    const sorted = delays.toSorted((a, b) => a - b);
    const watchP99Ms = sorted[Math.floor(sorted.length * 0.99)] ?? Number.POSITIVE_INFINITY;
    return { perSecond, watchP99Ms, error: error ?? seen.error };
  }

  return {
    create() {
      created ??= createWarm();
      return created;
    },
    fill: () => fill(NAMESPACE),
    async send(count, make, status) {
      const round = (): Promise<RateFigures> => send(count, make, status);
      await warmUp(round);
      return round();
    },
  };
}

/** A server compiles hot code again and again in its first seconds, which costs performance. Repeats rounds
 *  of the load until they get no faster, to measure sustained performance.
 *  @returns requests per second of the first round */
async function warmUp(round: () => Promise<{ readonly perSecond: number }>): Promise<number> {
  const { perSecond: first } = await round();
  let best = first;
  for (let rounds = 1; rounds < MAX_ROUNDS; rounds += 1) {
    const { perSecond } = await round();
    if (perSecond < best * STILL_FASTER) break;
    best = perSecond;
  }
  return first;
}

const errorOf = ({ status, body }: Reply): string => `${status}: ${body.toString('utf8', 0, 200)}`;
