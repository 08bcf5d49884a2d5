/** The load on the API server: clients that each wait for their answer before they ask again, and watchers. */
import { type HttpClient, type Reply, requestBytes, type Target } from './http-client.ts';
import { NAMESPACE, podBody, podName, podsPath } from './pod.ts';
import { startWatchers } from './watchers.ts';

/** As many as design.md says. */
export const POD_COUNT = 5000;
export const WATCHER_COUNT = 50;
/** Before the clock starts the same is done here once, and deleted: a server compiles its paths as they get hot. */
const WARM_UP_NAMESPACE = 'warm-up';

export interface CreateFigures {
  readonly perSecond: number;
  /** From a create's request to its event at a watcher, 99th percentile. */
  readonly watchP99Ms: number;
  /** What was wrong with answers or events. */
  readonly fault: string | undefined;
}

export interface RateFigures {
  readonly perSecond: number;
  readonly fault: string | undefined;
}

export interface Load {
  /** Creates the pods while the watchers watch, on a server that is warm; the first call does it, later ones have its
   *  figures. */
  readonly create: () => Promise<CreateFigures>;
  /** Creates them so on a server that did nothing before. */
  readonly fill: () => Promise<CreateFigures>;
  /** Requests by all clients, numbered from 0. */
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

  async function warmUp(): Promise<void> {
    const namespace = JSON.stringify({ metadata: { name: WARM_UP_NAMESPACE } });
    await clients[0]?.send(requestBytes('POST', '/api/v1/namespaces', namespace));
    await fill(WARM_UP_NAMESPACE);
    const path = podsPath(WARM_UP_NAMESPACE);
    await clients[0]?.send(requestBytes('DELETE', `${path}?gracePeriodSeconds=0`));
  }

  async function fill(namespace: string): Promise<CreateFigures> {
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
      created ??= warmUp().then(() => fill(NAMESPACE));
      return created;
    },
    fill: () => fill(NAMESPACE),
    send,
  };
}

const faultOf = ({ status, body }: Reply): string => `${status}: ${body.toString('utf8', 0, 200)}`;
