import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import { eventually } from '../../testing/wait.ts';
import type { Target } from '../agents/agents.ts';
import { fetchScrape } from './fetch-scrape.ts';
import { createNodeConnections } from './node-connections.ts';

let server: Server;
let target: Target;
const sockets: TLSSocket[] = [];
/** Recorded events, in order. */
const events: string[] = [];

beforeAll(async () => {
  const [from, until] = [new Date(Date.now() - 60_000), new Date(Date.now() + 3_600_000)];
  const authority = createAuthority({ commonName: 'test' }, from, until);
  const { certificate: cert, key } = issueIdentity(authority, {
    subject: { commonName: 'agent' },
    extendedUsages: ['serverAuth'],
    notBefore: from,
    notAfter: until,
  });
  server = createServer({ cert, key, keepAliveTimeout: 60_000 }, (_, reply) => reply.end('a 1\n'));
  server.on('secureConnection', (socket: TLSSocket) => {
    sockets.push(socket);
    events.push('connected');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  // As agents are checked by default: by the name in their certificate.
  const checkServerIdentity = (): undefined => undefined;
  target = {
    host: '127.0.0.1',
    port,
    tls: { ca: authority.certificate, servername: 'n1', checkServerIdentity, cert, key },
  };
});
beforeEach(() => {
  sockets.length = 0;
  events.length = 0;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function connections(prove: () => Promise<void> = () => Promise.resolve()) {
  const ways = createNodeConnections({
    locate: () => Promise.resolve(target),
    prove() {
      events.push('proved');
      return prove();
    },
  });
  return (signal: AbortSignal, node = 'n1') => fetchScrape({ ...ways, clock: systemClock }, node, signal);
}

test('a connection is made once the agent has proved who it is, and used for later scrapes', async () => {
  const stop = new AbortController();
  const scrape = connections();
  for (let round = 0; round < 3; round += 1) await scrape(stop.signal);
  expect(events).toEqual(['proved', 'connected']);
  stop.abort();
});

test('no connection is made to an agent that has not', async () => {
  const stop = new AbortController();
  const scrape = connections(() => Promise.reject(new Error('another certificate')));
  await expect(scrape(stop.signal)).rejects.toThrow('another certificate');
  expect(events).toEqual(['proved']);
  stop.abort();
});

test('a connection that was lost is made anew only after another proof', async () => {
  const stop = new AbortController();
  const scrape = connections();
  await scrape(stop.signal);
  const [first] = sockets;
  first?.destroy();
  await eventually(() => scrape(stop.signal));
  expect(events).toEqual(['proved', 'connected', 'proved', 'connected']);
  stop.abort();
});

test('nodes at the same address share no connection, and theirs end with the signal', async () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const scrape = connections();
  await scrape(one.signal);
  await scrape(other.signal, 'n2');
  expect(sockets).toHaveLength(2);
  one.abort();
  const [first, second] = sockets;
  await eventually(() => first?.destroyed === true);
  expect(second?.destroyed).toBe(false);
  other.abort();
  await eventually(() => second?.destroyed === true);
});
