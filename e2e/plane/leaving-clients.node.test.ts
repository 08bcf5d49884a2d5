/** Aborted requests: their resources are released, and other clients do not wait. */
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import { configMap, tokens, usePlane } from './support.ts';

/** Turns of the event loop after which a request is aborted: from before its first step to after its
 *  response. */
const TURNS = 12;
const ROUNDS = 8;
const MAPS = '/api/v1/namespaces/default/configmaps';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function turns(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await turn();
}

interface RequestCase {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
}

let names = 0;
function requests(): readonly RequestCase[] {
  names += 1;
  return [
    { method: 'GET', path: MAPS },
    { method: 'GET', path: `${MAPS}/left-1` },
    { method: 'GET', path: `${MAPS}?watch=1` },
    { method: 'POST', path: MAPS, body: JSON.stringify(configMap(`left-${names}`)) },
    { method: 'POST', path: MAPS, body: '{' },
    { method: 'GET', path: '/version' },
  ];
}

describe('clients that leave', () => {
  // Few slots, so that every leak shows.
  const slots = ['--max-mutating-requests-inflight=5', '--max-requests-inflight=5'];
  const plane = usePlane('plat', async (dir) => {
    const given = tokens('ann-t,ann,1');
    return [...(typeof given === 'function' ? await given(dir) : given), ...slots];
  });

  const held = async (): Promise<readonly string[]> => {
    const { text } = await plane.get('/metrics');
    const lines = text.match(/^apiserver_(?:current_in\w+|longrunning)_requests\{.*\} [1-9]\d*$/gm) ?? [];
    // The request for the figures is itself one of them.
    return lines.filter((line) => line !== 'apiserver_current_inflight_requests{request_kind="readOnly"} 1');
  };
  /** Longer than anyone waits for a slot would be too long. */
  const anothersStatus = async (): Promise<number> => {
    const startedMs = performance.now();
    const { status } = await plane.as('ann-t').get(MAPS);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    return status;
  };
  const open: (() => void)[] = [];
  /** Resources held once all clients have left, and the status that another client gets then. */
  async function outcome(): Promise<readonly [held: readonly string[], status: number]> {
    for (const close of open.splice(0)) close();
    await eventually(async () => (await held()).length === 0).catch(() => undefined);
    return [await held(), await anothersStatus()];
  }

  function session(identity: 'anonymous' | 'admin'): ClientHttp2Session {
    const { ca, cert, key } = plane.server.credentials();
    const opened = connect(plane.server.url, identity === 'admin' ? { ca, cert, key } : { ca });
    opened.on('error', () => undefined);
    open.push(() => opened.destroy());
    return opened;
  }

  test.each(['anonymous', 'admin'] as const)('over HTTP/2, %s', async (identity) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const h2 = session(identity);
      for (let count = 0; count < TURNS; count += 1) {
        const streams = requests().map(({ method, path, body }) => {
          const head = { ':method': method, ':path': path, 'content-type': 'application/json' };
          const stream = h2.request(head, { endStream: body === undefined });
          stream.on('error', () => undefined).resume();
          return body === undefined ? stream : stream.end(body);
        });
        await turns(count);
        for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
      }
      await new Promise<void>((resolve) => h2.close(resolve));
    }
    expect(await outcome()).toEqual([[], 403]);
  });

  test.each([
    ['HTTP/1.1', ''],
    ['WebSocket', 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'],
  ])('over %s', async (_name, upgrade) => {
    const { ca, cert, key } = plane.server.credentials();
    for (let count = 0; count < 2 * TURNS; count += 1) {
      const { port, hostname } = new URL(plane.server.url);
      const left = requests().map(async ({ method, path, body = '' }) => {
        const socket = connectTls({ port: Number(port), host: hostname, ca, cert, key });
        socket.on('error', () => undefined);
        await new Promise((resolve) => socket.once('secureConnect', resolve));
        const more = `${upgrade}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: ${body.length}`;
        socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n\r\n${body}`);
        await turns(count);
        socket.destroy();
      });
      await Promise.all(left);
    }
    expect(await outcome()).toEqual([[], 403]);
  });
});
