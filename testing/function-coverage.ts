/** Functions that run in this process, counted by V8 and reported by source file. */
import { Session } from 'node:inspector/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

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

export interface FunctionCoverage {
  /** Returns the files of the repository with a named function that has run since the last call, as relative paths. */
  take(): Promise<ReadonlySet<string>>;
}

const ROOT = join(import.meta.dirname, '..');
const TAKE = { id: 3, method: 'Profiler.takePreciseCoverage' };
const START = [
  { id: 1, method: 'Profiler.enable' },
  { id: 2, method: 'Profiler.startPreciseCoverage', params: { callCount: true, detailed: false } },
];

/** Files with a named function: a module itself has no name. */
const filesOf = (scripts: readonly ScriptCoverage[]): readonly string[] =>
  scripts
    .filter(({ url }) => url.startsWith('file://') && !url.includes('/node_modules/'))
    .filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0),
    )
    .map(({ url }) => relative(ROOT, fileURLToPath(url)));

/** Starts counting on the main thread, and on every worker thread that starts later. */
export async function startFunctionCoverage(): Promise<FunctionCoverage> {
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
