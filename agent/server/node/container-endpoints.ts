/** Container endpoints: read a log, run a command, attach, forward a port.
 *  Source: upstream's debugging handlers. */
import { StatusError } from '#api/meta/status-error.ts';
import type { PodEntry } from '../../pods/slot.ts';
import { type LogQuery, parseLogQuery } from '../log-query.ts';
import type { AttachQuery, ExecQuery } from '../stream-routes.ts';
import { type NodeEndpoint, type NodeRequest, type NodeResponse, text } from './endpoint.ts';
import { podByName } from './pods.ts';

/** Streams requested by a client; the runtime waits for exactly these. */
export interface Outputs {
  readonly stdout: boolean;
  readonly stderr: boolean;
}

export interface ContainerDeps {
  readonly find: (namespace: string, name: string) => PodEntry | undefined;
  readonly logs: (
    entry: PodEntry,
    query: LogQuery,
    signal: AbortSignal,
  ) => Promise<AsyncIterable<Uint8Array>>;
  /** Returns the streaming URL. @throws StatusError */
  readonly exec: (entry: PodEntry, query: ExecQuery & Outputs) => Promise<string>;
  readonly attach: (entry: PodEntry, query: AttachQuery & Outputs) => Promise<string>;
  readonly portForward: (entry: PodEntry, ports: readonly number[]) => Promise<string>;
  /** Runs a command to its end. @throws StatusError */
  readonly run: (
    entry: PodEntry,
    container: string,
    command: readonly string[],
    signal: AbortSignal,
  ) => Promise<{ readonly exitCode: number; readonly output: string }>;
}

const notFound = (): StatusError => new StatusError('NotFound', '404 page not found');

interface Place {
  readonly entry: PodEntry;
  readonly container: string;
}

/** `namespace/pod/container` or `namespace/pod/uid/container`. */
function placeOf({ find }: ContainerDeps, rest: readonly string[]): Place {
  const [namespace = '', name = '', ...more] = rest;
  const container = more.at(-1);
  if (container === undefined || container === '' || more.length > 2) throw notFound();
  return { entry: podOf(find, namespace, name, more.length === 2 ? more[0] : undefined), container };
}

function podOf(
  find: ContainerDeps['find'],
  namespace: string,
  name: string,
  uid: string | undefined,
): PodEntry {
  const entry = podByName(find, namespace, name);
  if (uid === undefined || entry.pod.metadata?.uid === uid) return entry;
  throw new StatusError('NotFound', `pod ${JSON.stringify(name)} does not exist`);
}

/** Creates the endpoints under both names that clients use. */
const isSet = (query: URLSearchParams, ...keys: readonly string[]): boolean =>
  keys.some((key) => query.get(key) === '1' || query.get(key) === 'true');

/** @throws StatusError BadRequest if no stream is requested */
export function streamsOf(query: URLSearchParams): AttachQuery & Outputs {
  const tty = isSet(query, 'tty');
  const stdin = isSet(query, 'input', 'stdin');
  const stdout = isSet(query, 'output', 'stdout');
  // A terminal has one output.
  const stderr = isSet(query, 'error', 'stderr') && !tty;
  if (!stdin && !stdout && !stderr) {
    throw new StatusError('BadRequest', 'you must specify at least 1 of stdin, stdout, stderr');
  }
  return { container: undefined, stdin, stdout, stderr, tty };
}

function needUpgrade({ isUpgrade }: NodeRequest): void {
  if (!isUpgrade) throw new StatusError('BadRequest', 'Upgrade request required');
}

/** @throws StatusError BadRequest */
export function portsOf(query: URLSearchParams): readonly number[] {
  return query
    .getAll('port')
    .flatMap((words) => words.split(','))
    .map((word) => {
      const port = /^\d{1,5}$/.test(word) ? Number(word) : 0;
      if (port >= 1 && port <= 65_535) return port;
      throw new StatusError('BadRequest', `port ${JSON.stringify(word)} is not a number from 1 to 65535`);
    });
}

async function containerLog(deps: ContainerDeps, request: NodeRequest): Promise<NodeResponse> {
  const { entry, container } = placeOf(deps, request.rest);
  const query = parseLogQuery(container, withoutEmpty(request.query));
  const chunks = await deps.logs(entry, query, request.signal);
  return { kind: 'stream', chunks, contentType: 'text/plain' };
}

function withoutEmpty(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([, value]) => value !== ''));
}

async function exec(deps: ContainerDeps, request: NodeRequest): Promise<NodeResponse> {
  const { entry, container } = placeOf(deps, request.rest);
  needUpgrade(request);
  const streams = streamsOf(request.query);
  const command = request.query.getAll('command');
  if (command.length === 0) throw new StatusError('BadRequest', 'command: at least one word is needed');
  return { kind: 'upgrade', url: await deps.exec(entry, { ...streams, container, command }) };
}

async function attach(deps: ContainerDeps, request: NodeRequest): Promise<NodeResponse> {
  const { entry, container } = placeOf(deps, request.rest);
  needUpgrade(request);
  return { kind: 'upgrade', url: await deps.attach(entry, { ...streamsOf(request.query), container }) };
}

async function portForward(deps: ContainerDeps, request: NodeRequest): Promise<NodeResponse> {
  const [namespace = '', name = '', uid, ...more] = request.rest;
  if (more.length > 0) throw notFound();
  const entry = podOf(deps.find, namespace, name, uid);
  needUpgrade(request);
  return { kind: 'upgrade', url: await deps.portForward(entry, portsOf(request.query)) };
}

async function run(deps: ContainerDeps, request: NodeRequest): Promise<NodeResponse> {
  const { entry, container } = placeOf(deps, request.rest);
  const command = (request.query.get('cmd') ?? '').split(' ').filter((word) => word !== '');
  if (command.length === 0) throw new StatusError('BadRequest', 'cmd: a command is needed');
  const { exitCode, output } = await deps.run(entry, container, command, request.signal);
  if (exitCode === 0) return text(output);
  return text(`command ${JSON.stringify(command.join(' '))} exited with ${exitCode}: ${output}`, 500);
}

const STREAMING: readonly string[] = ['GET', 'POST'];

export function containerEndpoints(deps: ContainerDeps): readonly NodeEndpoint[] {
  const of =
    (handle: (deps: ContainerDeps, request: NodeRequest) => Promise<NodeResponse>) =>
    (request: NodeRequest) =>
      handle(deps, request);
  return [
    { name: 'containerLogs', methods: ['GET'], handle: of(containerLog) },
    { name: 'exec', methods: STREAMING, handle: of(exec) },
    { name: 'attach', methods: STREAMING, handle: of(attach) },
    { name: 'portForward', methods: STREAMING, handle: of(portForward) },
    { name: 'run', methods: ['POST'], handle: of(run) },
  ];
}
