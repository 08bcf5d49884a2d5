/** Runs a server, and reports the files whose functions run from a create request until its watcher has the event:
 *  on the main thread and on the store's. Prints them as JSON, together with those
 *  that run without requests. A first create comes before, so that nothing counts that happens once. */
import { Session } from 'node:inspector/promises';
import { join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { API_ALONE, startTestPlane, type TestPlane } from '#plane/main.fixture.ts';

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly count: number }[];
  }[];
}

interface ThreadMessage {
  readonly id?: number;
  readonly result?: { readonly result?: readonly ScriptCoverage[] };
}

/** Profilers of the main thread and of all worker threads. */
interface Profilers {
  /** Returns the files that have run since the last call. */
  take(): Promise<ReadonlySet<string>>;
}

const ROOT = join(import.meta.dirname, '../..');
const TAKE = { id: 3, method: 'Profiler.takePreciseCoverage' };
const START = [
  { id: 1, method: 'Profiler.enable' },
  { id: 2, method: 'Profiler.startPreciseCoverage', params: { callCount: true, detailed: false } },
];

/** Files with a function other than the module's own. */
const filesOf = (scripts: readonly ScriptCoverage[]): readonly string[] =>
  scripts
    .filter(({ url }) => url.startsWith('file://') && !url.includes('/node_modules/'))
    .filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0),
    )
    .map(({ url }) => relative(ROOT, fileURLToPath(url)));

async function startProfilers(): Promise<Profilers> {
  const session = new Session();
  session.connect();
  const workers: string[] = [];
  const waiting = new Map<string, (scripts: readonly ScriptCoverage[]) => void>();
  const send = (sessionId: string, message: object): Promise<unknown> =>
    session.post('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify(message) });
  session.on('NodeWorker.attachedToWorker', ({ params }) => {
    workers.push(params.sessionId);
    for (const message of START) void send(params.sessionId, message);
  });
  session.on('NodeWorker.receivedMessageFromWorker', ({ params: { sessionId, message } }) => {
    const { id, result } = JSON.parse(message) as ThreadMessage;
    if (id === TAKE.id) waiting.get(sessionId)?.(result?.result ?? []);
  });
  await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const takeFrom = async (sessionId: string): Promise<readonly ScriptCoverage[]> => {
    const { promise, resolve } = Promise.withResolvers<readonly ScriptCoverage[]>();
    waiting.set(sessionId, resolve);
    await send(sessionId, TAKE);
    return promise;
  };
  return {
    async take() {
      const { result } = await session.post('Profiler.takePreciseCoverage');
      const threads = await Promise.all(workers.map(takeFrom));
      return new Set([...filesOf(result), ...threads.flatMap(filesOf)]);
    },
  };
}

const PATH = '/api/v1/namespaces/default/configmaps';

async function createAndReceive(plane: TestPlane, name: string, received: () => boolean): Promise<void> {
  await plane.call('POST', PATH, { body: { metadata: { name }, data: { a: '1' } } });
  while (!received()) await pause(5);
}

async function main(): Promise<void> {
  const profilers = await startProfilers();
  await using plane = await startTestPlane(API_ALONE);
  const watcher = new Agent({ connect: plane.credentials(), allowH2: false });
  const response = await request(`${plane.url}${PATH}?watch=1`, { dispatcher: watcher });
  let text = '';
  response.body.on('data', (chunk: Buffer) => (text += chunk.toString()));
  response.body.on('error', () => undefined);
  await createAndReceive(plane, 'first', () => text.includes('"name":"first"'));
  await pause(500);
  await profilers.take();
  await pause(500);
  const idle = await profilers.take();
  await createAndReceive(plane, 'second', () => text.includes('"name":"second"'));
  const all = await profilers.take();
  const isServer = (file: string): boolean => !/\.fixture\.ts$|^e2e\//.test(file);
  console.log(JSON.stringify({ all: [...all].filter(isServer), idle: [...idle].filter(isServer) }));
  await watcher.destroy();
}

await main();
