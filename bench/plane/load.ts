/** The load on the API server: clients that each wait for their answer before they ask again, and watchers. */
import { setTimeout as wait } from 'node:timers/promises';
import { type HttpClient, type Reply, requestBytes } from './http-client.ts';
import { PODS_PATH, podBody, podName } from './pod.ts';

/** As many as design.md says. */
export const POD_COUNT = 5000;
export const WATCHER_COUNT = 50;
/** Created elsewhere and deleted before the clock starts: a server compiles its hot paths as they get hot. */
const WARM_UP = 3000;
/** Watchers whose events are counted and timed. The others must get the same bytes: looking into them as well would
 *  measure this program. */
const READ_WATCHERS = 5;
const WARM_UP_NAMESPACE = 'warm-up';
/** Until the last event must have come. */
const LAST_EVENT_MS = 10_000;

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
  /** Creates the pods while the watchers watch; the first call does it, later ones have its figures. */
  readonly create: () => Promise<CreateFigures>;
  /** Requests by all clients, numbered from 0. */
  readonly send: (count: number, make: (index: number) => Buffer, status: number) => Promise<RateFigures>;
}

export interface LoadDeps {
  readonly clients: readonly HttpClient[];
  readonly connect: () => Promise<HttpClient>;
  readonly say: (line: string) => void;
}

export function createLoad({ clients, connect, say }: LoadDeps): Load {
  let created: Promise<CreateFigures> | undefined;

  async function send(count: number, make: (index: number) => Buffer, status: number): Promise<RateFigures> {
    let next = 0;
    let fault: string | undefined;
    const startMs = performance.now();
    await Promise.all(
      clients.map(async (client) => {
        for (let index = next++; index < count; index = next++) {
          const reply = await client.send(make(index));
          if (reply.status !== status) fault = faultOf(reply);
        }
      }),
    );
    return { perSecond: (count * 1000) / (performance.now() - startMs), fault };
  }

  async function warmUp(): Promise<void> {
    const namespace = JSON.stringify({ metadata: { name: WARM_UP_NAMESPACE } });
    await clients[0]?.send(requestBytes('POST', '/api/v1/namespaces', namespace));
    const path = `/api/v1/namespaces/${WARM_UP_NAMESPACE}/pods`;
    await send(WARM_UP, (index) => requestBytes('POST', path, podBody(index)), 201);
    await clients[0]?.send(requestBytes('DELETE', `${path}?gracePeriodSeconds=0`));
  }

  async function create(): Promise<CreateFigures> {
    const sentMs = new Map<string, number>();
    await warmUp();
    const make = (index: number): Buffer => {
      sentMs.set(podName(index), performance.now());
      return requestBytes('POST', PODS_PATH, podBody(index));
    };
    const watchers = await watch(connect, sentMs);
    const { perSecond, fault } = await send(POD_COUNT, make, 201);
    const seen = await watchers.end();
    say(`${POD_COUNT} pods created, the last event seen`);
    return { perSecond, watchP99Ms: seen.p99Ms, fault: fault ?? seen.fault };
  }

  return {
    create() {
      created ??= create();
      return created;
    },
    send,
  };
}

const faultOf = ({ status, body }: Reply): string => `${status}: ${body.toString('utf8', 0, 200)}`;

interface Watchers {
  /** Waits for the last event and closes. */
  readonly end: () => Promise<{ readonly fault: string | undefined; readonly p99Ms: number }>;
}

async function watch(
  connect: () => Promise<HttpClient>,
  sentMs: ReadonlyMap<string, number>,
): Promise<Watchers> {
  const watchers = await Promise.all(Array.from({ length: WATCHER_COUNT }, connect));
  const received = watchers.map(() => 0);
  const delays: number[] = [];
  /** The last bytes of what each watcher got: pieces end anywhere, also within what is looked for. */
  const tails = watchers.map(() => Buffer.alloc(0));
  let events = 0;
  const readEvents = (bytes: Buffer, index: number): void => {
    const nowMs = performance.now();
    const seam = Buffer.concat([tails[index] ?? bytes, bytes.subarray(0, ADDED.length - 1)]);
    if (seam.includes(ADDED)) events += 1;
    tails[index] = Buffer.from(bytes.subarray(-(ADDED.length - 1)));
    for (let at = bytes.indexOf(ADDED); at >= 0; at = bytes.indexOf(ADDED, at + ADDED.length)) {
      events += 1;
      const sent = sentMs.get(nameAfter(bytes, at));
      if (sent !== undefined) delays.push(nowMs - sent);
    }
  };
  for (const [index, watcher] of watchers.entries()) {
    watcher.stream(requestBytes('GET', `${PODS_PATH}?watch=1`), (bytes) => {
      received[index] = (received[index] ?? 0) + bytes.length;
      if (index < READ_WATCHERS) readEvents(bytes, index);
    });
  }
  const isComplete = (): boolean => events >= POD_COUNT * READ_WATCHERS && isSteady(received);
  return {
    async end() {
      await untilTrue(isComplete, LAST_EVENT_MS);
      for (const watcher of watchers) watcher.close();
      const sorted = delays.toSorted((a, b) => a - b);
      const p99Ms = sorted[Math.floor(sorted.length * 0.99)] ?? Number.POSITIVE_INFINITY;
      return { fault: deliveryFault(events, received), p99Ms };
    },
  };
}

/** Less than one event of all: pieces may be cut differently. */
const SLACK = 1 / (2 * POD_COUNT);

const isSteady = (received: readonly number[]): boolean =>
  Math.min(...received) >= Math.max(...received) * (1 - SLACK);

function deliveryFault(events: number, received: readonly number[]): string | undefined {
  const expected = POD_COUNT * READ_WATCHERS;
  if (events !== expected) return `${events} events instead of ${expected}`;
  return isSteady(received)
    ? undefined
    : `watchers got between ${Math.min(...received)} and ${Math.max(...received)} bytes`;
}

async function untilTrue(isTrue: () => boolean, withinMs: number): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!isTrue() && performance.now() < endMs) await wait(20);
}

const ADDED = Buffer.from('"type":"ADDED"');
const NAME = Buffer.from('"name":"');

/** The first name after the offset, if it came with the same bytes. */
function nameAfter(bytes: Buffer, at: number): string {
  const start = bytes.indexOf(NAME, at);
  if (start < 0) return '';
  return bytes.toString('latin1', start + NAME.length, bytes.indexOf('"', start + NAME.length));
}
