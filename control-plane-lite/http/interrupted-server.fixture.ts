/** A server whose requests can be interrupted at any step, and which counts their resources. */
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createMetricsRegistry, type MetricsRegistry } from '#api/kit/metrics.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { flowDefaults } from '../flow-control/defaults.ts';
import { type ConfigurableFlowControl, createFlowControl } from '../flow-control/flow-control.ts';
import type { TestCertificate } from './certificates.fixture.ts';
import type { Exchange } from './connection/exchange.ts';
import { createListener } from './connection/listener.ts';
import type { ApiRequest, ApiResponse, Handler } from './contract.ts';
import {
  createCountingClock,
  createInterruptions,
  type Interruptions,
  stepsOf,
} from './interruptions.fixture.ts';
import { createLeavingClients, type LeavingClients } from './leaving-client.fixture.ts';
import { createPipeline } from './pipeline/pipeline.ts';
import { proxyRequest } from './proxy/proxy.ts';
import { jsonResponse } from './server.fixture.ts';
import { type ApiServerDeps, type ApiServerOptions, pipelineParts } from './server.ts';

export const TIMEOUT_MS = 54_321;
/** More than connections buffer. */
const LARGE = Buffer.alloc(16 * 1024 * 1024, 'x');
/** More than a stream's window holds, compressed or not. */
const NOISE = randomBytes(1024 * 1024);

/** Resources held by requests, by name; all are 0 when there is no request. */
export type Held = Readonly<Record<string, number>>;

export interface InterruptedServer extends AsyncDisposable {
  readonly interruptions: Interruptions;
  /** Every step of the parts. */
  readonly steps: readonly string[];
  readonly clients: LeavingClients;
  held(): Held;
  /** Resolves once the server has noticed that the client of the newest request is gone. */
  readonly left: () => Promise<void>;
  /** Fires the timeout of the request. False: it has none, or no longer. */
  timeOut(): boolean;
  abortAll(): void;
  /** Acquires every concurrency slot; returns the function that releases them. */
  occupy(): () => void;
}

/** A watch, which is only notified of its end by the request's signal as long as it has not started. */
function watchOf(request: ApiRequest, count: (by: 1 | -1) => void): ApiResponse {
  // Every handler must do so before it starts anything that only the signal ends.
  request.signal.throwIfAborted();
  let open = true;
  const end = (): void => {
    if (open) count(-1);
    open = false;
  };
  count(1);
  request.signal.addEventListener('abort', end, { once: true });
  return {
    kind: 'stream',
    contentType: 'application/json',
    compressible: true,
    webSocket: { binary: false },
    start(sink) {
      sink.write(Buffer.from('{"type":"ADDED"}\n'));
      if (request.query.has('short')) sink.end();
      request.signal.addEventListener('abort', () => sink.end(), { once: true });
      return end;
    },
  };
}

/** A proxied server, which responds when allowed to. */
function startTarget({ step }: Interruptions): Promise<Server> {
  const target = createServer((message, reply) => {
    const responding = (async () => {
      await step('target.respond', () => undefined);
      reply.writeHead(message.url === '/denied' ? 403 : 200).end('from the target');
    })();
    responding.catch(() => reply.destroy());
  });
  target.on('upgrade', (message, socket) => {
    socket.on('error', () => undefined);
    // A client that leaves an open stream may have closed its own side only.
    socket.on('end', () => socket.end()).resume();
    const responding = (async () => {
      await step('target.respond', () => undefined);
      if (message.url === '/denied') {
        socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
        return;
      }
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      await step('target.stream', () => undefined);
      socket.end();
    })();
    responding.catch(() => socket.destroy());
  });
  return new Promise((resolve) => target.listen(0, '127.0.0.1', () => resolve(target)));
}

const portOf = (server: Server): number => {
  const address = server.address();
  return isAddress(address) ? address.port : 0;
};
const isAddress = (address: AddressInfo | string | null): address is AddressInfo =>
  typeof address === 'object' && address !== null;

interface HandlerDeps {
  readonly interruptions: Interruptions;
  readonly watching: (by: 1 | -1) => void;
  readonly targetPort: number;
}

/** The steps that the real handlers wait for, in order. */
async function handle(deps: HandlerDeps, request: ApiRequest): Promise<ApiResponse> {
  const { step } = deps.interruptions;
  const { info } = request;
  if (request.method === 'POST') await step('handler.body', () => request.readBody());
  await step('handler.admission', () => undefined);
  if (info.name === 'refused') throw new StatusError('NotFound', 'there is none');
  await step('handler.storage', () => undefined);
  if (info.verb === 'watch') return watchOf(request, deps.watching);
  if (info.name === 'large' || info.name === 'noise') {
    const body = info.name === 'large' ? LARGE : NOISE;
    return { kind: 'bytes', status: 200, contentType: 'text/plain', body };
  }
  if (info.subresource !== 'proxy') return jsonResponse({});
  return proxyRequest(request, {
    target: { host: '127.0.0.1', port: deps.targetPort, path: `/${info.name}` },
    domain: VOCABULARIES.plat.apiGroupDomain,
    remoteAddress: '',
  });
}

interface DepsOptions {
  readonly recording: (by: 1 | -1) => void;
  readonly handler: Handler;
}

function createDeps(
  clock: Clock,
  registry: MetricsRegistry,
  { recording, handler }: DepsOptions,
): ApiServerDeps {
  const user = { name: 'jane', groups: [], extra: {} };
  return {
    clock,
    log: silentLogger,
    vocabulary: VOCABULARIES.plat,
    registry,
    authenticate: () => ({ kind: 'user', user }),
    authorize: () => ({ effect: 'allow', reason: '' }),
    impersonate: (request) => request.user,
    routes: [{ path: '/version', methods: ['GET'], handler: () => jsonResponse({ minor: '24' }) }],
    resources: handler,
    audit: {
      begin() {
        recording(1);
        return {
          admitted: undefined,
          panicked: () => undefined,
          started: () => undefined,
          complete: () => recording(-1),
        };
      },
    },
  };
}

/** Parts that limit requests: priority levels, or a maximum of requests in flight. */
export type Limit = 'flowControl' | 'inFlight';

/** One priority level, whose seat all requests share. */
function createOneSeat(clock: Clock, registry: MetricsRegistry): ConfigurableFlowControl {
  const vocabulary = VOCABULARIES.plat;
  const control = createFlowControl(
    { clock, registry, objectCount: () => 0 },
    {
      defaults: flowDefaults(vocabulary),
      readOnly: 1,
      mutating: 1,
      uidHeaders: { schema: vocabulary.flowSchemaHeader, level: vocabulary.priorityLevelHeader },
      maxWaitMs: 15_000,
    },
  );
  const [catchAll] = control.levels().filter(({ name }) => name === 'catch-all');
  const limited = {
    assuredConcurrencyShares: 1,
    limitResponse: { type: 'Queue', queuing: { queues: 1, handSize: 1, queueLengthLimit: 10 } },
  };
  control.configure({ schemas: [], levels: [{ ...catchAll?.object, spec: { type: 'Limited', limited } }] });
  return control;
}

/** Occupies every seat. */
function occupySeats(control: ConfigurableFlowControl): () => void {
  const info = { verb: 'get', isResource: true, group: '', version: '', resource: '', subresource: '' };
  const admissions = [0, 1].map(() =>
    control.arrive({
      user: { name: 'other', groups: [], extra: {} },
      info: { ...info, namespace: '', name: '', path: '' },
      hasQuery: false,
      query: new URLSearchParams(),
    }),
  );
  return () => {
    for (const admission of admissions) admission.end();
  };
}

/** @param ca PEM of the certificate's issuer
 *  @param handler instead of one that takes the steps of the real ones */
export async function startInterruptedServer(
  certificate: TestCertificate,
  ca: string,
  handler?: Handler,
  limit: Limit = 'flowControl',
): Promise<InterruptedServer> {
  const interruptions = createInterruptions();
  const clock = createCountingClock(systemClock);
  const registry = createMetricsRegistry();
  const target = await startTarget(interruptions);
  let records = 0;
  let watches = 0;
  const flowControl = limit === 'flowControl' ? createOneSeat(clock, registry) : undefined;
  const common = createDeps(clock, registry, {
    recording: (by) => void (records += by),
    handler:
      handler ??
      ((request) =>
        handle(
          { interruptions, watching: (by) => void (watches += by), targetPort: portOf(target) },
          request,
        )),
  });
  const deps: ApiServerDeps = flowControl === undefined ? common : { ...common, flowControl };
  const options: ApiServerOptions = { inFlight: { readOnly: 1, mutating: 1 }, streams: { partingMs: 5 } };
  const parts = pipelineParts(deps, options);
  const pipeline = createPipeline(interruptions.wrap(parts), {
    requestTimeoutMs: TIMEOUT_MS,
    bodyLimitBytes: 1024 * 1024,
  });
  let left = Promise.withResolvers<void>();
  function serve(exchange: Exchange): void {
    left = Promise.withResolvers();
    const onDrain = exchange.onDrain.bind(exchange);
    exchange.onDrain = (listener) => {
      onDrain(listener);
      void interruptions.step('response.drain', () => undefined);
    };
    pipeline.serve(exchange);
    exchange.onClose(left.resolve);
  }
  const plain = createListener({ serve }, {});
  const secure = createListener({ serve }, { tls: certificate });
  const address = { host: '127.0.0.1', port: 0 };
  const clients = createLeavingClients(await plain.listen(address), await secure.listen(address), ca);
  const { inFlight } = parts;
  const counts = flowControl ?? inFlight;
  return {
    interruptions,
    steps: stepsOf(parts),
    clients,
    held: () => ({
      readOnly: counts.count('readOnly'),
      mutating: counts.count('mutating'),
      waiting: counts.waiting('readOnly') + counts.waiting('mutating'),
      seats: seatsInUse(flowControl),
      records,
      watches,
      timers: clock.open,
      requests: pipeline.active,
      longRunning: longRunning(registry.text()),
      sockets: process.getActiveResourcesInfo().filter((name) => /^(?:TCP(?:Socket)?|TLS)Wrap$/.test(name))
        .length,
    }),
    left: () => left.promise,
    timeOut: () => clock.fire(TIMEOUT_MS),
    abortAll: () => pipeline.abort('all'),
    occupy() {
      if (flowControl !== undefined) return occupySeats(flowControl);
      for (const kind of ['readOnly', 'mutating'] as const) inFlight.tryEnter(kind);
      return () => {
        for (const kind of ['readOnly', 'mutating'] as const) inFlight.leave(kind);
      };
    },
    async [Symbol.asyncDispose]() {
      await clients[Symbol.asyncDispose]();
      await closeAll([plain, secure], target);
    },
  };
}

async function closeAll(
  listeners: readonly ReturnType<typeof createListener>[],
  target: Server,
): Promise<void> {
  for (const listener of listeners) {
    const drained = listener.drain();
    listener.destroy();
    await drained;
  }
  target.closeAllConnections();
  await new Promise((resolve) => target.close(resolve));
}

const seatsInUse = (control: ConfigurableFlowControl | undefined): number =>
  (control?.levels() ?? []).reduce((sum, { set }) => sum + (set?.seatsInUse ?? 0), 0);

function longRunning(text: string): number {
  const values = text.matchAll(/^apiserver_longrunning_requests\{[^}]*\} (-?\d+)$/gm);
  return [...values].reduce((sum, [, value]) => sum + Math.abs(Number(value)), 0);
}
