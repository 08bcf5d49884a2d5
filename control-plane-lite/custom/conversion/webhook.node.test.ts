/** Calls of a conversion webhook over real TLS, including servers that do not respond. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { createWebhookConverter } from './webhook.ts';

const DAY_MS = 86_400_000;
const notBefore = new Date(Date.now() - DAY_MS);
const notAfter = new Date(Date.now() + DAY_MS);
const authority = createAuthority({ commonName: 'webhook-authority' }, notBefore, notAfter);
const identity = issueIdentity(authority, {
  subject: { commonName: 'webhook' },
  dnsNames: ['hook.n.svc'],
  ipAddresses: ['127.0.0.1'],
  extendedUsages: ['serverAuth'],
  notBefore,
  notAfter,
});

interface Review {
  readonly kind: string;
  readonly apiVersion: string;
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly ApiObject[];
  };
}

let server: Server;
let port: number;
let mode: 'convert' | 'silent' | 'redirect' | 'endless' = 'convert';
const hosts: (string | undefined)[] = [];

beforeAll(async () => {
  server = createServer({ cert: identity.certificate, key: identity.key }, (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      hosts.push(request.headers.host);
      if (mode === 'silent') return;
      if (mode === 'redirect') {
        response.writeHead(302, { location: `https://127.0.0.1:${port}/other` }).end();
        return;
      }
      if (mode === 'endless') {
        const more = (error?: Error | null): void => {
          if (error === undefined || error === null) response.write(Buffer.alloc(1024 * 1024), more);
        };
        more();
        return;
      }
      const { kind, apiVersion, request: review } = JSON.parse(Buffer.concat(pieces).toString()) as Review;
      const convertedObjects = review.objects.map((object) => ({
        ...object,
        apiVersion: review.desiredAPIVersion,
      }));
      response.end(
        JSON.stringify({
          kind,
          apiVersion,
          response: { uid: review.uid, result: { status: 'Success' }, convertedObjects },
        }),
      );
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const cake: ApiObject = { apiVersion: 'shop.example/v1', kind: 'Cake', metadata: { name: 'a' } };

function convert(url: string | undefined, timeoutMs?: number): Promise<readonly ApiObject[]> {
  const stop = new AbortController();
  const service = { namespace: 'n', name: 'hook', path: '/x' };
  const converter = createWebhookConverter(
    { addressOf: () => ({ host: '127.0.0.1', port }) },
    {
      webhook: {
        clientConfig: {
          ...(url === undefined ? { service } : { url }),
          caBundle: Buffer.from(authority.certificate).toString('base64'),
        },
        conversionReviewVersions: ['v1'],
      },
      group: 'apiextensions.example',
      kind: 'Cake',
      signal: stop.signal,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    },
  );
  return converter([cake], 'shop.example/v2').finally(() => stop.abort());
}

const own = (): string => `https://127.0.0.1:${port}/convert`;

test('an address and a service are both believed by the name that they go by', async () => {
  mode = 'convert';
  hosts.length = 0;
  expect(await convert(own())).toEqual([{ ...cake, apiVersion: 'shop.example/v2' }]);
  expect(await convert(undefined)).toHaveLength(1);
  expect(hosts).toEqual([`127.0.0.1:${port}`, `hook.n.svc:${port}`]);
});

test('a name that the certificate does not have is not believed', async () => {
  mode = 'convert';
  hosts.length = 0;
  await expect(convert(`https://localhost:${port}/convert`)).rejects.toMatchObject({
    reason: 'InternalError',
  });
  expect(hosts).toEqual([]);
});

test('a call without a response times out', async () => {
  mode = 'silent';
  await expect(convert(own(), 50)).rejects.toThrow(
    /^conversion webhook for shop\.example\/v1, Kind=Cake failed: Post "https:\/\/\S+\?timeout=1s": context deadline exceeded$/,
  );
});

test('no redirection is followed', async () => {
  mode = 'redirect';
  await expect(convert(own())).rejects.toThrow('the server responded with status 302');
});

test('an endless response is cut off', async () => {
  mode = 'endless';
  await expect(convert(own())).rejects.toThrow('the response exceeds');
});

test('an unreachable address is reported', async () => {
  await expect(convert('https://127.0.0.1:1/convert')).rejects.toThrow('ECONNREFUSED');
});
