/** Finds and reads a container's log for a request. */
import { StatusError } from '#api/meta/status-error.ts';
import { LogFileError } from '../logs/open-log.ts';
import { containerLogPath } from '../logs/paths.ts';
import { readLogs } from '../logs/reader.ts';
import type { RuntimeView } from '../observe/runtime-view.ts';
import type { ObservedContainer } from '../observe/types.ts';
import { podIdentity } from '../pod-identity/identity.ts';
import { chooseContainer } from '../pods/choose-container.ts';
import type { PodEntry } from '../pods/slot.ts';
import type { LogQuery } from './log-query.ts';

export interface ContainerLogsDeps {
  readonly view: RuntimeView;
  readonly podLogsDir: string;
  /** Annotation that names a pod's default container. */
  readonly defaultContainerKey: string;
}

/** Returns the log as bytes. @throws StatusError when the container is unknown or has no such log */
export async function containerLogs(
  deps: ContainerLogsDeps,
  { pod }: PodEntry,
  query: LogQuery,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const identity = podIdentity(pod);
  const spec = chooseContainer(pod, query.container, deps.defaultContainerKey);
  const container = instanceOf(deps.view, identity.uid, spec.name, query.previous);
  const path = containerLogPath(deps.podLogsDir, identity, spec.name, container.attempt);
  const watch = stoppedSignal(deps.view, container);
  const options = { ...query, root: deps.podLogsDir, stopped: watch.signal };
  const chunks = readLogs(path, options, signal);
  const first = await firstChunk(chunks, spec.name);
  return joined(first, chunks, watch.release);
}

type Chunks = ReturnType<typeof readLogs>;

function instanceOf(view: RuntimeView, podUID: string, name: string, previous: boolean): ObservedContainer {
  const instances = view.pod(podUID).containers.filter((container) => container.name === name);
  const container = instances[previous ? 1 : 0];
  if (container !== undefined) return container;
  const what = previous
    ? `previous terminated container ${name} was not found`
    : `container ${name} has not been started`;
  throw new StatusError('BadRequest', what);
}

function stoppedSignal(view: RuntimeView, { id, podUID }: ObservedContainer) {
  const stopped = new AbortController();
  const check = (): void => {
    const state = view.container(id)?.state;
    if (state === undefined || state === 'exited') stopped.abort();
  };
  const release = view.onPodChange(podUID, check);
  check();
  return { signal: stopped.signal, release };
}

/** Reads the first chunk before the response begins, so that a missing file is an error and not an empty
 *  response. */
async function firstChunk(chunks: Chunks, name: string): ReturnType<Chunks['next']> {
  try {
    return await chunks.next();
  } catch (thrown) {
    if (!(thrown instanceof LogFileError)) throw thrown;
    throw new StatusError('NotFound', `the log of container ${name} cannot be read: ${thrown.message}`, {
      cause: thrown,
    });
  }
}

async function* joined(
  first: Awaited<ReturnType<Chunks['next']>>,
  rest: Chunks,
  release: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    if (first.done === true) return;
    yield first.value.chunk;
    for await (const { chunk } of rest) yield chunk;
  } finally {
    release();
  }
}
