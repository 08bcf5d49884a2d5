import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the kernel's range of ephemeral ports, where a free port may be taken again before its program
 *  listens. */
const FIRST = 10_000;
const PORTS_PER_WORKER = 2_000;
const WORKERS = 8;

/** Concurrent tests search separate ranges. */
const range = FIRST + (Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS) * PORTS_PER_WORKER;
let next = Math.floor(Math.random() * PORTS_PER_WORKER);

/** Returns a free loopback port that is not given to any other caller. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS_PER_WORKER; tries += 1) {
    next = (next + 1) % PORTS_PER_WORKER;
    // Concurrent callers continue after it.
    const port = range + next;
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port from ${range} to ${range + PORTS_PER_WORKER - 1}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
