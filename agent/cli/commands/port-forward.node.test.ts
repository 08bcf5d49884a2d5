import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { isReady, TestAgent } from '../../../testing/agent.ts';
import { runCli, startCli } from '../../../testing/cli.ts';
import { eventually } from '../../../testing/wait.ts';

/** The second port of the pod responds with a digest after this many bytes. */
const SIZE = 4_000_000;

let agent: TestAgent;
let child: ReturnType<typeof startCli>;
let said = '';
let errors = '';

/** Sends the bytes and returns the response: all of it, or the given number of bytes. */
async function ask(port: number, bytes: Uint8Array, wantedBytes = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.write(bytes);
  const parts: Buffer[] = [];
  let left = wantedBytes;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    parts.push(chunk);
    left -= chunk.byteLength;
    if (left <= 0) break;
  }
  return Buffer.concat(parts);
}

const localPort = (remote: number): number =>
  Number(
    new RegExp(`^forwarding 127\\.0\\.0\\.1:(\\d+) to port ${remote} of pod web-n1$`, 'm').exec(said)?.[1],
  );

beforeAll(async () => {
  agent = await TestAgent.create({ endpoint: inject('criEndpoint') });
  const script = `nc -ll -p 7 -e cat & nc -ll -p 9 -e sh -c "head -c ${SIZE} | sha256sum" & wait`;
  const listens = (port: number): string => `netstat -ltn | grep -q ":${port} "`;
  const readinessProbe = {
    exec: { command: ['sh', '-c', `${listens(7)} && ${listens(9)}`] },
    periodSeconds: 1,
    timeoutSeconds: 10,
  };
  const command = ['sh', '-c', script];
  const containers = [{ name: 'main', image: 'local/busybox:1', command, readinessProbe }];
  const spec = { terminationGracePeriodSeconds: 0, containers };
  const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec };
  await agent.put('web.json', JSON.stringify(manifest));
  await agent.waitFor('web', isReady);
  child = startCli(agent, ['port-forward', 'web', ':7', ':9', ':1']);
  child.stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  await eventually(() => /port 1 of/.test(said), { what: 'it listens' });
  await eventually(async () => String(await ask(localPort(7), Buffer.from('x'), 1)) === 'x', {
    what: 'the pod listens',
  });
});

afterAll(async () => {
  child.kill('SIGKILL');
  await child.ended;
  await agent[Symbol.asyncDispose]();
});

describe('port-forward', () => {
  test('forwards concurrent connections in both directions', async () => {
    const texts = Array.from({ length: 8 }, (_, index) => `hello ${index}\n`);
    const responses = await Promise.all(
      texts.map((text) => ask(localPort(7), Buffer.from(text), text.length)),
    );
    expect(responses.map(String)).toEqual(texts);
  });

  test('forwards 4 MB intact, and the end of the response', async () => {
    const data = Buffer.alloc(SIZE, 'a text of an odd length\n');
    const digest = createHash('sha256').update(data).digest('hex');
    expect(String(await ask(localPort(9), data)).split(' ')[0]).toBe(digest);
    expect((await ask(localPort(7), data, SIZE)).equals(data)).toBe(true);
  });

  test('reports that nothing listens on the port, and continues', async () => {
    await ask(localPort(1), Buffer.from('x')).catch(() => undefined);
    await eventually(() => /^connection to port 1: .*refused/m.test(errors), {
      what: 'the failure is reported',
    });
    expect(String(await ask(localPort(7), Buffer.from('still'), 5))).toBe('still');
  });

  test('rejects invalid ports, missing pods, and ports in use', async () => {
    expect(await runCli(agent, ['port-forward', 'web', 'http'])).toMatchObject({ code: 2 });
    expect((await runCli(agent, ['port-forward', 'wab', '80'])).err).toMatch(/did you mean web/);
    const taken = await runCli(agent, ['port-forward', 'web', `${localPort(7)}:7`]);
    expect(taken).toMatchObject({ code: 1 });
    expect(taken.err).toMatch(/cannot listen on .*EADDRINUSE/);
  });

  test('ends when it is interrupted, even with open connections', async () => {
    const socket = connect({ host: '127.0.0.1', port: localPort(7) });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write('x');
    await once(socket, 'data');
    child.kill('SIGINT');
    expect((await child.ended).code).toBe(130);
    socket.destroy();
  });
});
