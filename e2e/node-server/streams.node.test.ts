/** Streams of a container over WebSocket, in every version of the subprotocol, and access to them. */
import { once } from 'node:events';
import { connect } from 'node:tls';
import { beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { REMOTE_COMMAND_V4, REMOTE_COMMAND_V5 } from '#api/vocabulary.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { useNode } from './support.ts';

const node = useNode();
let web: string;
beforeAll(async () => {
  web = await node.run('web', { containers: [sh('main', WAIT)] });
});

const STDIN = 0;
const RESIZE = 4;
const CLOSE = 255;

interface Session {
  readonly protocol: string;
  send(channel: number, data: string | Uint8Array): void;
  /** Waits for the text on the channel. */
  until(channel: number, text: string): Promise<void>;
  /** Returns the received text by channel, once the connection is closed. */
  readonly ended: Promise<Readonly<Record<number, string>>>;
}

const pathOf = (query: string): string => `/api/v1/namespaces/default/pods/${web}/exec?${query}`;

async function open(query: string, ...protocols: readonly string[]): Promise<Session> {
  const url = node.plane.server.url.replace('https', 'wss') + pathOf(query);
  const socket = new WebSocket(url, [...protocols], { ...node.plane.server.credentials() });
  const texts: Record<number, string> = {};
  let look: () => void = () => undefined;
  socket.on('message', (data: Buffer) => {
    const channel = data[0] ?? -1;
    texts[channel] = (texts[channel] ?? '') + data.subarray(1).toString('utf8');
    look();
  });
  const ended = once(socket, 'close').then(() => texts);
  await once(socket, 'open');
  return {
    protocol: socket.protocol,
    send: (channel, data) => socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(data)])),
    async until(channel, text) {
      while (!(texts[channel] ?? '').includes(text)) {
        await new Promise<void>((resolve) => {
          look = resolve;
        });
      }
    },
    ended,
  };
}

const words = (...all: readonly string[]): string =>
  all.map((word) => `command=${encodeURIComponent(word)}`).join('&');

describe('exec by WebSocket', () => {
  test.each([REMOTE_COMMAND_V4, REMOTE_COMMAND_V5])('ends with its status (%s)', async (protocol) => {
    const session = await open(
      `${words('sh', '-c', 'echo o; echo e >&2; exit 3')}&stdout=1&stderr=1`,
      protocol,
    );
    expect(session.protocol).toBe(protocol);
    const { 1: out, 2: err, 3: status = '' } = await session.ended;
    expect([out, err]).toEqual(['o\n', 'e\n']);
    expect(JSON.parse(status)).toMatchObject({
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    });
  });

  test('selects the newest that both know', async () => {
    const session = await open(`${words('true')}&stdout=1`, REMOTE_COMMAND_V5, REMOTE_COMMAND_V4);
    expect(session.protocol).toBe(REMOTE_COMMAND_V5);
    const { 3: status = '' } = await session.ended;
    expect(JSON.parse(status)).toMatchObject({ status: 'Success' });
  });

  test('closes the input of a command, in the fifth version', async () => {
    const session = await open(`${words('cat')}&stdin=1&stdout=1`, REMOTE_COMMAND_V5);
    session.send(STDIN, 'first ');
    session.send(STDIN, 'second');
    session.send(CLOSE, Buffer.of(STDIN));
    expect(await session.ended).toMatchObject({ 1: 'first second' });
  });

  test.each([REMOTE_COMMAND_V4, REMOTE_COMMAND_V5])('gives a terminal its size (%s)', async (protocol) => {
    // Sizes are sent to the runtime separately from the input, and may arrive after it.
    const script = 'while [ "$(stty size)" != "37 101" ]; do sleep 0.02; done; stty size; exit 4';
    const session = await open(`${words('sh', '-c', script)}&stdin=1&stdout=1&tty=1`, protocol);
    session.send(RESIZE, '{"Width":101,"Height":37}');
    await session.until(1, '37 101');
    const { 3: status = '' } = await session.ended;
    expect(JSON.parse(status)).toMatchObject({ details: { causes: [{ message: '4' }] } });
  });
});

describe('a request for streams', () => {
  /** Returns the head of the server's response to an upgrade request. */
  async function head(path: string, ...lines: readonly string[]): Promise<string> {
    const url = new URL(node.plane.server.url);
    const { ca } = node.plane.server.credentials();
    const socket = connect({ host: url.hostname, port: Number(url.port), ca, ALPNProtocols: ['http/1.1'] });
    await once(socket, 'secureConnect');
    const all = [`GET ${path} HTTP/1.1`, 'Host: x', 'Connection: Upgrade', ...lines];
    socket.write(`${all.join('\r\n')}\r\n\r\nbytes of an upgraded connection`);
    let text = '';
    for await (const part of socket as AsyncIterable<Buffer>) {
      text += part.toString();
      if (text.includes('\r\n\r\n')) break;
    }
    socket.destroy();
    return text;
  }

  test.each([
    ['SPDY', ['Upgrade: SPDY/3.1', `X-Stream-Protocol-Version: ${REMOTE_COMMAND_V4}`]],
    [
      'WebSocket',
      [
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
        `Sec-WebSocket-Protocol: ${REMOTE_COMMAND_V5}`,
      ],
    ],
  ])('of an unauthorized client stops at the API server (%s)', async (_, lines) => {
    expect(await head(pathOf('command=true&stdout=1'), ...lines)).toMatch(/^HTTP\/1\.1 403 /);
  });

  test('that changes nothing is refused', async () => {
    const reply = await node.plane.get(pathOf('command=true&stdout=1'));
    expect([reply.status, reply.body.message]).toEqual([400, 'Upgrade request required']);
  });

  test('for a pod that no node has is refused', async () => {
    await node.plane.post('/api/v1/namespaces/default/pods', {
      metadata: { name: 'waiting' },
      spec: { containers: [{ name: 'main', image: 'x' }] },
    });
    const folder = '/api/v1/namespaces/default/pods/waiting';
    expect((await node.plane.get(`${folder}/exec?command=x&stdout=1`)).body.message).toBe(
      'pod waiting does not have a host assigned',
    );
    expect(await node.plane.get(`${folder}/log`)).toMatchObject({ status: 200, text: '' });
    expect((await node.plane.get(`${folder}/proxy/x`)).body.message).toBe('address not allowed');
  });
});
