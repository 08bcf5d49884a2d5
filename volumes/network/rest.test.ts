import { createServer, type RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { callRest, RestError, textMember } from './rest.ts';

interface TestServer extends AsyncDisposable {
  readonly url: string;
}

async function serve(listener: RequestListener): Promise<TestServer> {
  const server = createServer(listener);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}/v1/x`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

const { signal } = new AbortController();

describe('callRest', () => {
  it('sends JSON with its headers and reads JSON', async () => {
    await using server = await serve((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const { method, headers, url } = request;
        response.end(
          JSON.stringify({
            method,
            url,
            login: headers.authorization,
            body: Buffer.concat(parts).toString(),
          }),
        );
      });
    });
    const headers = { authorization: 'Basic eA==' };
    const received = await callRest({ url: server.url, method: 'PUT', headers, body: { a: 1 }, signal });
    expect(received).toEqual({ method: 'PUT', url: '/v1/x', login: 'Basic eA==', body: '{"a":1}' });
  });

  it('accepts an empty response', async () => {
    await using server = await serve((_, response) => void response.writeHead(204).end());
    expect(await callRest({ url: server.url, method: 'POST', signal })).toBeUndefined();
  });

  it.each<[string, RequestListener, string, number]>([
    [
      'an error',
      (_, response) => void response.writeHead(409).end('volume\nis busy'),
      'returned status 409: volume is busy',
      409,
    ],
    ['no JSON', (_, response) => void response.end('<html>'), 'invalid JSON', 200],
    [
      'a redirect',
      (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      'failed',
      0,
    ],
    ['too much', (_, response) => void response.end('x'.repeat(2 ** 21)), 'too large', 0],
    ['no response', (request) => void request.socket.destroy(), 'GET /v1/x at 127.0.0.1', 0],
  ])('fails with %s', async (_, listener, message, status) => {
    await using server = await serve(listener);
    const failure = await callRest({ url: server.url, method: 'GET', signal }).catch(
      (thrown: unknown) => thrown,
    );
    expect(failure).toBeInstanceOf(RestError);
    expect(failure).toMatchObject({ status });
    expect(String(failure)).toContain(message);
  });

  it('is aborted with the pod', async () => {
    const stop = new AbortController();
    await using server = await serve(() => stop.abort(new Error('the pod is gone')));
    const calling = callRest({ url: server.url, method: 'GET', signal: stop.signal });
    await expect(calling).rejects.toThrow('the pod is gone');
  });
});

describe('textMember', () => {
  it('returns the string, or an empty one', () => {
    expect([textMember({ a: 'x' }, 'a'), textMember({ a: 1 }, 'a'), textMember(undefined, 'a')]).toEqual([
      'x',
      '',
      '',
    ]);
  });
});
