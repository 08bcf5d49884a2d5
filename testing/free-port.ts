import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that the kernel gives to outgoing connections and to listeners that name none: one of those may be
 *  gone again before the program that it was found for listens. */
const FIRST = 10_000;
const PORTS_PER_WORKER = 2_000;
const WORKERS = 8;

/** Tests that run beside each other look in ranges of their own. */
const range = FIRST + (Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS) * PORTS_PER_WORKER;
let next = Math.floor(Math.random() * PORTS_PER_WORKER);

/** A port of loopback that nobody listens on, and that nobody else is told of. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS_PER_WORKER; tries += 1) {
    next = (next + 1) % PORTS_PER_WORKER;
    // Others may ask meanwhile.
    const port = range + next;
    if (await isFree(port)) return port;
  }
  throw new Error(`there is no free port from ${range} to ${range + PORTS_PER_WORKER - 1}`);
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
