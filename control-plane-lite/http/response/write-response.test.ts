import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestAuthority } from '../certificates.fixture.ts';
import type { Handler } from '../contract.ts';
import { startTestServer } from '../server.fixture.ts';

const ca = createTestAuthority();
const certificate = ca.issue('localhost');

/** Small chunks that are joined, and occasional ones that stay as they are; each contains its position. */
const PIECES: readonly Buffer[] = Array.from({ length: 8000 }, (_, i) =>
  Buffer.alloc(i % 1000 === 500 ? 300_000 : 1000 + (i % 3000), `piece ${i} `),
);
const WHOLE = Buffer.concat(PIECES);

/** Much larger than a connection's buffer. */
const resources: Handler = () => ({
  kind: 'bytes',
  status: 200,
  contentType: 'text/plain',
  body: PIECES,
});

/** Incompressible bytes. */
const randomResponse: Handler = () => ({
  kind: 'bytes',
  status: 200,
  contentType: 'text/plain',
  body: Array.from({ length: 400 }, () => crypto.getRandomValues(Buffer.alloc(64 * 1024))),
});

describe('a large response to a client that reads it in small pieces', () => {
  const warnings: string[] = [];
  const note = (warning: Error): void => void warnings.push(warning.name);
  beforeEach(() => {
    warnings.length = 0;
    process.on('warning', note);
  });
  afterEach(() => {
    process.off('warning', note);
  });

  /** Reads everything, with a turn of the event loop after every chunk. */
  async function readSlowly(readable: NodeJS.ReadableStream): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of readable) {
      chunks.push(Buffer.from(chunk));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return Buffer.concat(chunks);
  }

  test('arrives whole over HTTP/1.1, and leaves no listeners behind', async () => {
    await using server = await startTestServer({ certificate, resources });
    const socket = connectTls({ port: server.port, host: '127.0.0.1', ca: ca.cert });
    await once(socket, 'secureConnect');
    socket.write('GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const response = await readSlowly(socket);
    expect(WHOLE.equals(response.subarray(response.indexOf('\r\n\r\n') + 4))).toBe(true);
    expect(warnings).toEqual([]);
  });

  test('arrives whole over HTTP/2, and leaves no listeners behind', async () => {
    await using server = await startTestServer({ certificate, resources });
    const session = connectHttp2(server.url, { ca: ca.cert });
    const response = await readSlowly(session.request({ ':path': '/api/v1/pods' }));
    expect(WHOLE.equals(response)).toBe(true);
    expect(warnings).toEqual([]);
    session.destroy();
  });

  test('arrives whole and compressed, and leaves no listeners behind', async () => {
    await using server = await startTestServer({ certificate, resources });
    const session = connectHttp2(server.url, { ca: ca.cert });
    const stream = session.request({ ':path': '/api/v1/pods', 'accept-encoding': 'gzip' });
    const response = await readSlowly(stream);
    expect(response.length).toBeLessThan(WHOLE.length / 4);
    expect(WHOLE.equals(gunzipSync(response))).toBe(true);
    expect(warnings).toEqual([]);
    session.destroy();
  });

  test('is given up, compressed or not, when the client goes', async () => {
    await using server = await startTestServer({ certificate, resources: randomResponse });
    for (const encoding of ['gzip', 'identity']) {
      const socket = connectTls({ port: server.port, host: '127.0.0.1', ca: ca.cert });
      socket.on('error', () => undefined);
      await once(socket, 'secureConnect');
      socket.write(`GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nAccept-Encoding: ${encoding}\r\n\r\n`);
      await once(socket, 'data');
      socket.pause();
      // Until all buffers on the way are full.
      for (let turn = 0; turn < 500; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      socket.destroy();
    }
    await server.server.close({ drainMs: 1_000_000 });
    expect(server.server.activeRequests).toBe(0);
  });
});
