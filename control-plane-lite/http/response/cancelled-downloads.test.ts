import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestAuthority } from '../certificates.fixture.ts';
import type { Handler } from '../contract.ts';
import { firstOf } from '../events.fixture.ts';
import { startTestServer, type TestServer } from '../server.fixture.ts';

const ca = createTestAuthority();
const certificate = ca.issue('localhost');

const MEGABYTE = 1024 * 1024;
/** Small pieces, like those of a list. */
const LIST: readonly Buffer[] = Array.from({ length: 2048 }, () => Buffer.alloc(1024, 'x'));
const BODIES: Readonly<Record<string, Buffer | readonly Buffer[]>> = {
  list: LIST,
  'large-object': Buffer.alloc(3 * MEGABYTE, 'x'),
};

const resources: Handler = ({ info }) => {
  const body = BODIES[info.name ?? ''];
  if (body !== undefined) return { kind: 'bytes', status: 200, contentType: 'text/plain', body };
  return {
    kind: 'stream',
    contentType: 'application/json',
    start(sink) {
      sink.write(Buffer.alloc(3 * MEGABYTE, 'x'));
      return () => undefined;
    },
  };
};

/** Resets the stream once its first bytes have arrived: the server has more of it queued. */
async function cancelDownload(session: ClientHttp2Session, path: string): Promise<void> {
  const stream = session.request({ ':path': path });
  await once(stream, 'data');
  const closed = firstOf(stream, 'close');
  stream.on('error', () => undefined);
  stream.close(constants.NGHTTP2_CANCEL);
  await closed;
}

describe('a session whose client cancels downloads', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({ certificate, resources });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test.each([
    ['lists', '/api/v1/nodes/list', 600],
    ['large objects', '/api/v1/nodes/large-object', 60],
    ['watches', '/api/v1/nodes?watch=1', 60],
  ])('takes further requests after many %s', async (_name, path, count) => {
    const session = connect(server.url, { ca: ca.cert });
    for (let each = 0; each < count; each += 1) await cancelDownload(session, path);
    const stream = session.request({ ':path': '/version' });
    expect((await once(stream, 'response')).slice(0, 1)).toMatchObject([{ ':status': 200 }]);
    session.destroy();
  });
});
