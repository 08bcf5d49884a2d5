/** A request releases everything that it acquires: however, wherever and over whatever protocol it ends. */
import { expect, test } from 'vitest';
import { sleep, systemClock } from '#api/kit/clock.ts';
import { eventually } from '../../testing/wait.ts';
import { createTestAuthority } from './certificates.fixture.ts';
import {
  type Held,
  type InterruptedServer,
  type Limit,
  startInterruptedServer,
} from './interrupted-server.fixture.ts';
import { isAtOnce, type When } from './interruptions.fixture.ts';
import type { LeavingClient, Protocol, Sent } from './leaving-client.fixture.ts';

const ca = createTestAuthority();
const certificate = ca.issue('localhost');

interface Kind {
  readonly sent: Sent;
  readonly protocols: readonly Protocol[];
  /** Every slot is in use when it arrives. */
  readonly queued?: true;
  /** Its response never ends by itself. */
  readonly endless?: true;
  /** Steps at which it is interrupted; default: all that it reaches. */
  readonly steps?: readonly string[];
}

const ALL: readonly Protocol[] = ['HTTP/1.1', 'HTTP/2', 'WebSocket'];
const PLAIN: readonly Protocol[] = ['HTTP/1.1', 'HTTP/2'];
const PODS = '/api/v1/namespaces/n/pods';
const DRAIN = 'response.drain';

const KINDS: Readonly<Record<string, Kind>> = {
  get: { sent: { method: 'GET', path: `${PODS}/a` }, protocols: ALL },
  'get that has to wait': { sent: { method: 'GET', path: `${PODS}/a` }, protocols: ALL, queued: true },
  'get that is refused': { sent: { method: 'GET', path: `${PODS}/refused` }, protocols: ALL },
  create: { sent: { method: 'POST', path: PODS, body: Buffer.alloc(1000, ' ') }, protocols: PLAIN },
  watch: { sent: { method: 'GET', path: `${PODS}?watch=1` }, protocols: ALL, endless: true },
  'watch that is compressed': {
    sent: { method: 'GET', path: `${PODS}?watch=1`, headers: { 'accept-encoding': 'gzip' } },
    protocols: PLAIN,
    endless: true,
  },
  'watch that ends': { sent: { method: 'GET', path: `${PODS}?watch=1&short` }, protocols: ALL },
  'proxied request': { sent: { method: 'GET', path: `${PODS}/a/proxy/` }, protocols: ALL },
  'proxied request that is refused': {
    sent: { method: 'GET', path: `${PODS}/denied/proxy/` },
    protocols: ALL,
  },
  'path of no resource': { sent: { method: 'GET', path: '/version' }, protocols: PLAIN },
  'large response': {
    sent: { method: 'GET', path: `${PODS}/large`, stalls: true },
    protocols: PLAIN,
    steps: [DRAIN],
  },
  'large response that is compressed': {
    sent: {
      method: 'GET',
      path: `${PODS}/noise`,
      stalls: true,
      headers: { 'accept-encoding': 'gzip' },
    },
    protocols: ['HTTP/2'],
    steps: [DRAIN],
  },
};

const WARMING: Kind = { sent: { method: 'GET', path: '/version' }, protocols: ALL };

const ENDS = ['leaves', 'is out of time', 'is cut by the server'] as const;
type End = (typeof ENDS)[number];

interface Case {
  readonly step: string;
  readonly when: When;
  readonly end: End | 'fails';
}

function casesOf(step: string): readonly Case[] {
  const failing: Case = { step, when: 'throws', end: 'fails' };
  if (isAtOnce(step)) return [failing];
  if (step === DRAIN) return [{ step, when: 'during', end: 'leaves' }];
  const whens: readonly When[] = ['before', 'during', 'after'];
  const ended = whens.flatMap((when) => ENDS.map((end): Case => ({ step, when, end })));
  return [failing, { step, when: 'rejects', end: 'fails' }, ...ended];
}

/** True: the interruption must end the request. */
async function endIt(server: InterruptedServer, client: LeavingClient, how: Case['end']): Promise<boolean> {
  switch (how) {
    case 'leaves':
      client.leave();
      await soon(server.left(), 'the server sees that the client has left');
      return true;
    case 'is out of time':
      return server.timeOut();
    case 'is cut by the server':
      server.abortAll();
      return true;
    case 'fails':
      return true;
    default:
      return how satisfies never;
  }
}

/** Steps in which a request waits for others. */
const isWaiting = (step: string): boolean => step === 'inFlight.enter' || step === 'flowControl.wait';

/** Waits until a response is complete, or has started and does not end by itself. */
const hasResponse = (reached: readonly string[]): boolean =>
  ['streamer', DRAIN, 'target.stream'].some((step) => reached.includes(step));

/** @throws Error that names the missing effect */
async function soon<T>(promise: Promise<T>, what: string): Promise<T> {
  const stop = new AbortController();
  const late = sleep(systemClock, 5000, stop.signal).then((): never => {
    throw new Error(`not within 5 s: ${what}`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    stop.abort(new Error('it has happened'));
  }
}

interface Outcome {
  /** The interruption must end the request. */
  readonly ended: boolean;
  /** Steps that started after it. */
  readonly later: readonly string[];
}

/** One request, interrupted as planned. */
async function go(
  server: InterruptedServer,
  protocol: Protocol,
  kind: Kind,
  planned?: Case,
): Promise<Outcome> {
  const { interruptions, clients } = server;
  const release = kind.queued === true ? server.occupy() : undefined;
  const acted = Promise.withResolvers<void>();
  let client: LeavingClient | undefined;
  let ended = planned?.end === 'fails';
  let count = 0;
  async function act(): Promise<void> {
    count = interruptions.reached.length;
    if (client !== undefined && planned !== undefined) ended = await endIt(server, client, planned.end);
    acted.resolve();
  }
  interruptions.plan(planned && { step: planned.step, when: planned.when, act });
  const holds = planned?.step === 'handler.body' && planned.when === 'during' ? { held: 1 } : undefined;
  client = clients.send(protocol, { ...kind.sent, ...holds });
  const happened = planned?.end === 'fails' ? client.over : acted.promise;
  if (release !== undefined) {
    const waits = eventually(() => interruptions.reached.some(isWaiting), { intervalMs: 1 });
    await Promise.race([waits, happened]);
    // Interruptions while a request waits for a slot come before it has one.
    if (planned !== undefined && isWaiting(planned.step) && planned.when !== 'after') await happened;
    release();
  }
  if (planned !== undefined) await soon(happened, `${planned.end}, ${planned.when} ${planned.step}`);
  else
    await Promise.race([
      client.over,
      eventually(() => hasResponse(interruptions.reached), { intervalMs: 1 }),
    ]);
  // The rest of a body, and the close frame of a WebSocket, are waited for with a timeout.
  const lingers = holds !== undefined || (protocol === 'WebSocket' && planned?.step === 'streamer');
  if (ended && !lingers)
    await soon(client.over, `over once it ${planned?.end}, ${planned?.when} ${planned?.step}`);
  client.leave();
  await soon(server.left(), `closed after it ${planned?.end}, ${planned?.when} ${planned?.step}`);
  return { ended, later: interruptions.reached.slice(count) };
}

/** Resources in use at idle; sockets of earlier tests may still have been closing. */
const left = (server: InterruptedServer, sockets: number): Held =>
  Object.fromEntries(
    Object.entries(server.held())
      .map(([name, count]) => [name, name === 'sockets' ? Math.max(0, count - sockets) : count] as const)
      .filter(([, count]) => count !== 0),
  );

async function expectNothing(server: InterruptedServer, sockets: number, after: string): Promise<void> {
  const isNothing = (): boolean => Object.keys(left(server, sockets)).length === 0;
  await eventually(isNothing, { intervalMs: 1, timeoutMs: 3000 }).catch(() => undefined);
  expect(left(server, sockets), `held after it ${after}`).toEqual({});
}

/** Steps of a request that is not being handled yet. */
const BEFORE_HANDLER: ReadonlySet<string> = new Set([
  'joinBatch',
  'authenticate',
  'impersonate',
  'inFlight.enter',
  'flowControl.arrive',
  'flowControl.wait',
  'authorize',
]);
/** Steps allowed for a request that has ended. */
const PARTING: ReadonlySet<string> = new Set(['audit.begin', 'encodeStatus']);

const LIMITS: readonly Limit[] = ['flowControl', 'inFlight'];
const TABLE = Object.entries(KINDS).flatMap(([name, kind]) =>
  kind.protocols.map((protocol) => ({ name, protocol, kind })),
);
/** The plain limit treats all requests alike that do not wait. */
const CASES = LIMITS.flatMap((limit) =>
  TABLE.filter(({ kind }) => limit === 'flowControl' || kind.queued === true).map((row) => ({
    ...row,
    limit,
  })),
);

test.each(CASES)(
  'a $name over $protocol with $limit releases everything',
  async ({ kind, protocol, limit }) => {
    await using server = await startInterruptedServer(certificate, ca.cert, undefined, limit);
    // HTTP/2 streams share a connection, which stays open.
    if (protocol === 'HTTP/2') await go(server, protocol, WARMING);
    const sockets = server.held()['sockets'] ?? 0;
    await go(server, protocol, kind);
    const reached = new Set(server.interruptions.reached);
    await expectNothing(server, sockets, 'got a response');
    for (const each of kind.steps ?? [...reached]) {
      for (const planned of casesOf(each)) {
        const { step, when, end: how } = planned;
        if (kind.endless === true && step === 'streamer' && when === 'after') continue;
        const what = `${how}, ${when} ${step}`;
        const { ended, later } = await go(server, protocol, kind, planned);
        await expectNothing(server, sockets, what);
        if (!ended || how === 'fails' || when === 'after' || !BEFORE_HANDLER.has(step)) continue;
        expect(
          later.filter((name) => !PARTING.has(name)),
          `after it ${what}`,
        ).toEqual([]);
      }
    }
  },
);

test.each(LIMITS)('every step of a request with %s is among those that were interrupted', async (limit) => {
  await using server = await startInterruptedServer(certificate, ca.cert, undefined, limit);
  const reached = new Set<string>();
  for (const { kind, protocol } of TABLE) {
    await go(server, protocol, kind);
    for (const step of server.interruptions.reached) reached.add(step);
  }
  const isOther = (step: string): boolean => LIMITS.some((each) => each !== limit && step.startsWith(each));
  expect(server.steps.filter((step) => !reached.has(step) && !isOther(step))).toEqual([]);
  expect(server.steps).toEqual(
    expect.arrayContaining([
      ...[...BEFORE_HANDLER].filter((step) => !isOther(step)),
      'resources',
      'streamer',
      'audit.begin',
    ]),
  );
});
