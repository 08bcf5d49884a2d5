import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import type { Target } from '../agents/agents.ts';
import { fetchScrape } from './fetch-scrape.ts';

let server: Server;
let target: Target;
let respond: (message: IncomingMessage, reply: ServerResponse) => void = () => undefined;
let agent: Agent;

beforeAll(async () => {
  const [from, until] = [new Date(Date.now() - 60_000), new Date(Date.now() + 3_600_000)];
  const authority = createAuthority({ commonName: 'test' }, from, until);
  const { certificate: cert, key } = issueIdentity(authority, {
    subject: { commonName: 'agent' },
    ipAddresses: ['127.0.0.1'],
    extendedUsages: ['serverAuth'],
    notBefore: from,
    notAfter: until,
  });
  server = createServer({ cert, key }, (message, reply) => respond(message, reply));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  target = { host: '127.0.0.1', port, tls: { ca: authority.certificate, servername: '' } };
  agent = new Agent({ ...target.tls, keepAlive: true });
});
afterAll(() => {
  agent.destroy();
  server.closeAllConnections();
  server.close();
});

const NEVER = new AbortController().signal;

function fetching(signal = NEVER, clock = createFakeClock()): ReturnType<typeof fetchScrape> {
  return fetchScrape({ find: () => Promise.resolve({ target, agent }), clock }, 'n1', signal);
}

describe('a scrape of an agent', () => {
  test('requests what metrics servers request, on the same connection', async () => {
    const ports = new Set<number | undefined>();
    const paths: unknown[] = [];
    respond = ({ url, socket }, reply) => {
      paths.push(url);
      ports.add(socket.remotePort);
      reply.end('node_cpu_usage_seconds_total 1 5\nnode_memory_working_set_bytes 1024 5\n');
    };
    expect((await fetching()).node).toEqual({ startMs: 0, atMs: 5, cpuNs: 1e9, memoryBytes: 1024 });
    await fetching();
    expect([paths, ports.size]).toEqual([['/metrics/resource', '/metrics/resource'], 1]);
  });

  test('fails on any other status', async () => {
    respond = (_, reply) => reply.writeHead(403).end('no');
    await expect(fetching()).rejects.toThrow('status 403');
  });

  test('ends a response that is too long', async () => {
    const closed = Promise.withResolvers<void>();
    respond = (_, reply) => {
      reply.on('close', () => closed.resolve());
      const write = (): void => {
        while (!reply.destroyed && reply.write('#\n'.repeat(32_768)));
        reply.once('drain', write);
      };
      write();
    };
    await expect(fetching()).rejects.toThrow('longer than 16777216 bytes');
    await closed.promise;
  });

  test('ends a response that breaks off', async () => {
    respond = (_, reply) => {
      reply.writeHead(200, { 'content-length': 1000 });
      reply.write('node_cpu_usage_seconds_total 1 5\n', () => reply.destroy());
    };
    await expect(fetching()).rejects.toThrow('aborted');
  });

  test('ends after ten seconds', async () => {
    const clock = createFakeClock();
    const asked = Promise.withResolvers<void>();
    respond = () => asked.resolve();
    const fetched = fetching(NEVER, clock);
    fetched.catch(() => undefined);
    await asked.promise;
    await clock.advance(10_000);
    await expect(fetched).rejects.toThrow('did not respond within 10000 ms');
  });

  test('ends with the signal', async () => {
    const stop = new AbortController();
    const asked = Promise.withResolvers<void>();
    respond = () => asked.resolve();
    const fetched = fetching(stop.signal);
    fetched.catch(() => undefined);
    await asked.promise;
    stop.abort();
    await expect(fetched).rejects.toThrow('aborted');
  });
});
