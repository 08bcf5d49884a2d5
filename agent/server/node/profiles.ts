/** `/debug/pprof/`: profiles of the agent in the formats of the Node.js tools. Collects one at a time, since
 *  each blocks the agent. */
import { StatusError } from '#api/meta/status-error.ts';
import { type NodeEndpoint, text } from './endpoint.ts';

const DEFAULT_SECONDS = 30;
const MOST_SECONDS = 300;

const INDEX = `profiles:
/debug/pprof/profile?seconds=30  CPU profile (.cpuprofile)
/debug/pprof/heap                heap snapshot (.heapsnapshot)
/debug/pprof/cmdline             command line
`;

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

export function profilesEndpoint(argv: readonly string[]): NodeEndpoint {
  let busy = false;

  async function alone<T>(work: () => Promise<T>): Promise<T> {
    if (busy) throw new StatusError('TooManyRequests', 'another profile is being collected');
    busy = true;
    try {
      return await work();
    } finally {
      busy = false;
    }
  }

  return {
    name: 'debug/pprof',
    methods: ['GET'],
    async handle({ rest, query, signal }) {
      switch (rest.join('/')) {
        case '':
          return text(INDEX);
        case 'cmdline':
          return text(argv.join('\0'));
        case 'profile': {
          const seconds = secondsOf(query);
          return { kind: 'json', value: await alone(() => cpuProfile(seconds, signal)) };
        }
        case 'heap': {
          const { getHeapSnapshot } = await import('node:v8');
          const chunks: AsyncIterable<Buffer> = await alone(() => Promise.resolve(getHeapSnapshot()));
          return { kind: 'stream', chunks, contentType: 'application/json' };
        }
        default:
          throw new StatusError('NotFound', '404 page not found');
      }
    },
  };
}
