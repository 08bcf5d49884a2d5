/** The load on the API server: clients that each wait for their answer before they ask again, and watchers. */
import { type HttpClient, type Reply, requestBytes, type Target } from './http-client.ts';
import { NAMESPACE, podBody, podName, podsPath } from './pod.ts';
import { startWatchers } from './watchers.ts';

/** As many as design.md says. */
export const POD_COUNT = 5000;
export const WATCHER_COUNT = 50;
/** Before the clock starts the same is done here, and deleted. */
const WARM_UP_NAMESPACE = 'warm-up';
/** A round that is not faster than the best before by this much ends the warming up. */
const STILL_FASTER = 1.05;
/** A machine whose speed changes could make it last. */
const MOST_ROUNDS = 5;

export interface CreateFigures {
  readonly perSecond: number;
  /** The first time that the server did it. */
  readonly coldPerSecond: number;
  /** From a create's request to its event at a watcher, 99th percentile. */
  readonly watchP99Ms: number;
  /** What was wrong with answers or events. */
  readonly fault: string | undefined;
}

export type FillFigures = Omit<CreateFigures, 'coldPerSecond'>;

export interface RateFigures {
  readonly perSecond: number;
  readonly fault: string | undefined;
}

export interface Load {
  /** Creates the pods while the watchers watch, on a server that is warm; the first call does it, later ones have its
   *  figures. */
  readonly create: () => Promise<CreateFigures>;
  /** Creates them so on a server that did nothing before. */
  readonly fill: () => Promise<FillFigures>;
  /** Requests by all clients, numbered from 0, to a server that is warm. */
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
    // Made before the clock starts: it is the server that is measured.
    const requests = Array.from({ length: count }, (_, index) => make(index));
    let next = 0;
    let fault: string | undefined;
    const startMs = performance.now();
    await Promise.all(
      clients.map(async (client) => {
        for (let index = next++; ; index = next++) {
          const request = requests[index];
          if (request === undefined) return;
          onSend(index);
          const reply = await client.send(request);
          if (reply.status !== status) fault = faultOf(reply);
        }
      }),
    );
    return { perSecond: (count * 1000) / (performance.now() - startMs), fault };
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
    const { perSecond, fault } = await send(POD_COUNT, make, 201, onSend);
    const seen = await watchers.end();
    say(`${POD_COUNT} pods created, the last event seen`);
    const delays = seen.arrivals.flatMap(([name, atMs]) => {
      const sent = sentMs.get(name);
      return sent === undefined ? [] : atMs - sent;
    });
    const sorted = delays.toSorted((a, b) => a - b);
    const watchP99Ms = sorted[Math.floor(sorted.length * 0.99)] ?? Number.POSITIVE_INFINITY;
    return { perSecond, watchP99Ms, fault: fault ?? seen.fault };
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

/** A server that compiles its code as it runs does so again and again in its first seconds, beside the work and at its
 *  cost. Rounds of the load until they get no faster: what is measured then is what the server can go on doing.
 *  @returns requests per second of the first */
async function warmUp(round: () => Promise<{ readonly perSecond: number }>): Promise<number> {
  const { perSecond: first } = await round();
  let best = first;
  for (let rounds = 1; rounds < MOST_ROUNDS; rounds += 1) {
    const { perSecond } = await round();
    if (perSecond < best * STILL_FASTER) break;
    best = perSecond;
  }
  return first;
}

const faultOf = ({ status, body }: Reply): string => `${status}: ${body.toString('utf8', 0, 200)}`;
