/** Process of a flooding client. Started by `flooder.ts`: the flood must not use the event loop of the client whose
 *  latency is measured. */
import { setTimeout as wait } from 'node:timers/promises';
import { asError } from '#api/kit/errno.ts';
import { type HttpClient, openClient } from '../http-client.ts';
import type { FloodOptions, FromFlooder, ToFlooder } from './messages.ts';

const report = (message: FromFlooder): void => void process.send?.(message);

interface Flood {
  start(): void;
  stop(): Promise<void>;
}

interface Pace {
  restart(): void;
  /** Resolves with the number of the next request when it is due. */
  next(): Promise<number>;
}

/** Creates the pace of requests. Each is due at its time, whether responses to earlier ones are late or not. */
function createPace(perSecond: number | undefined): Pace {
  let first = 0;
  let count = 0;
  let startMs = 0;
  return {
    restart() {
      first = count;
      startMs = performance.now();
    },
    async next() {
      const index = count;
      count += 1;
      const earlyMs =
        perSecond === undefined ? 0 : startMs + ((index - first) * 1000) / perSecond - performance.now();
      if (earlyMs > 0) await wait(earlyMs);
      return index;
    },
  };
}

async function openFlood(options: FloodOptions): Promise<Flood> {
  const { target, connections, perSecond } = options;
  const attempts = options.attempts.map(({ request, identity }) => ({
    request: Buffer.from(request, 'latin1'),
    identity,
  }));
  const clients = await Promise.all(Array.from({ length: connections }, () => openClient(target)));
  const pace = createPace(perSecond);
  let statuses: Record<string, number> = {};
  let stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let startMs = 0;

  async function send(client: HttpClient, index: number): Promise<number> {
    const attempt = attempts[index % attempts.length];
    if (attempt === undefined) throw new Error('no request');
    const { request, identity } = attempt;
    if (identity === undefined) return (await client.send(request)).status;
    const own = await openClient({ ...target, ...identity });
    const { status } = await own.send(request);
    own.close();
    return status;
  }

  async function flood(client: HttpClient): Promise<void> {
    while (!stop.signal.aborted) {
      const index = await pace.next();
      if (stop.signal.aborted) return;
      const status = await send(client, index);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  }

  return {
    start() {
      statuses = {};
      stop = new AbortController();
      startMs = performance.now();
      pace.restart();
      running = Promise.all(clients.map(flood)).then(() => undefined);
    },
    async stop() {
      const seconds = (performance.now() - startMs) / 1000;
      const sent = Object.values(statuses).reduce((sum, count) => sum + count, 0);
      stop.abort();
      await running;
      report({ kind: 'stopped', figures: { sent, seconds, statuses } });
    },
  };
}

const failed = (thrown: unknown): void => report({ kind: 'failed', message: asError(thrown).message });
let opening: Promise<Flood> | undefined;

async function obey(message: ToFlooder): Promise<void> {
  if (message.kind === 'open') {
    opening = openFlood(message.options);
    await opening;
    return report({ kind: 'opened' });
  }
  const flood = await opening;
  if (message.kind === 'start') flood?.start();
  else await flood?.stop();
}

process.on('unhandledRejection', failed);
process.on('message', (message: ToFlooder) => void obey(message).catch(failed));
// The parent process has exited.
process.on('disconnect', () => process.exit(0));
