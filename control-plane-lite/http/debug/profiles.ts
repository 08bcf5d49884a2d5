/** `/debug/pprof/`: profiles of the server in the formats of the Node.js tools. Collects one at a time, since each
 *  takes CPU time of the server. */
import { readFile } from 'node:fs/promises';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiRequest, ApiResponse, BytesResponse, PathRoute } from '../contract.ts';

const ROOT = '/debug/pprof';
const DEFAULT_SECONDS = 30;
const MOST_SECONDS = 300;

const INDEX = `profiles:
/debug/pprof/profile?seconds=30  CPU profile (.cpuprofile)
/debug/pprof/heap                heap snapshot (.heapsnapshot)
/debug/pprof/cmdline             command line
`;

const text = (body: string, contentType = 'text/plain; charset=utf-8'): BytesResponse => ({
  kind: 'bytes',
  status: 200,
  contentType,
  body: Buffer.from(body),
});

function secondsOf(query: URLSearchParams): number {
  const value = query.get('seconds') ?? String(DEFAULT_SECONDS);
  const seconds = /^\d{1,4}$/.test(value) ? Number(value) : 0;
  if (seconds >= 1 && seconds <= MOST_SECONDS) return seconds;
  throw new StatusError('BadRequest', `seconds must be a whole number from 1 to ${MOST_SECONDS}`);
}

async function cpuProfile(seconds: number, signal: AbortSignal): Promise<unknown> {
  const { Session } = await import('node:inspector/promises');
  const { setTimeout: pause } = await import('node:timers/promises');
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    await pause(seconds * 1000, undefined, { signal });
    const { profile } = await session.post('Profiler.stop');
    return profile;
  } finally {
    session.disconnect();
  }
}

/** Streams the snapshot as the client reads it. `done` is called once it has ended. */
async function heapSnapshot(done: () => void): Promise<ApiResponse> {
  const { getHeapSnapshot } = await import('node:v8');
  const snapshot = getHeapSnapshot();
  snapshot.once('close', done);
  return {
    kind: 'stream',
    contentType: 'application/json',
    start(sink) {
      const write = async (): Promise<void> => {
        try {
          for await (const chunk of snapshot as AsyncIterable<Buffer>) {
            sink.write(chunk);
            await sink.drained?.();
          }
        } finally {
          sink.end();
        }
      };
      write().catch(() => sink.end());
      return () => snapshot.destroy();
    },
  };
}

export function createProfilesRoute(): PathRoute {
  let isBusy = false;
  const free = (): void => {
    isBusy = false;
  };

  function occupy(): void {
    if (isBusy) throw new StatusError('TooManyRequests', 'another profile is being collected');
    isBusy = true;
  }

  async function handler({ info, query, signal }: ApiRequest): Promise<ApiResponse> {
    switch (info.path.slice(ROOT.length).replace(/^\/|\/$/g, '')) {
      case '':
        return text(INDEX);
      case 'cmdline':
        return text((await readFile('/proc/self/cmdline', 'utf8')).replace(/\0$/, ''));
      case 'profile': {
        const seconds = secondsOf(query);
        occupy();
        try {
          return text(JSON.stringify(await cpuProfile(seconds, signal)), 'application/json');
        } finally {
          free();
        }
      }
      case 'heap':
        occupy();
        try {
          return await heapSnapshot(free);
        } catch (thrown) {
          free();
          throw thrown;
        }
      default:
        throw new StatusError('NotFound', '404 page not found');
    }
  }
  return { path: ROOT, below: true, methods: ['GET'], handler };
}
