import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { LifecycleHandler } from '#api/gen/core-v1.ts';
import type { ExecResult } from '../probes/exec.ts';
import { type LifecycleDeps, LifecycleError, runHandler } from './lifecycle.ts';

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

const exited = (exitCode: number, stdout = ''): ExecResult => ({
  exitCode,
  stdout: Buffer.from(stdout),
  stderr: Buffer.alloc(0),
});

async function serve(statusCode: number): Promise<{ port: number; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    response.writeHead(statusCode).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => server.close());
  return { port: (server.address() as AddressInfo).port, seen };
}

const run = (
  handler: LifecycleHandler,
  deps: Partial<LifecycleDeps> = {},
  ports: readonly { name: string; containerPort: number }[] = [],
  signal: AbortSignal = new AbortController().signal,
): Promise<void> =>
  runHandler(
    {
      execSync: () => Promise.resolve(exited(0)),
      podIP: () => '127.0.0.1',
      userAgent: 'prober/test',
      ...deps,
    },
    handler,
    {
      pod: { metadata: { namespace: 'shop', name: 'web' } },
      container: { name: 'app', ports },
      containerId: 'c1',
    },
    signal,
  );

const failure = async (running: Promise<void>): Promise<string> => {
  const thrown: unknown = await running.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(LifecycleError);
  return thrown instanceof Error ? thrown.message : '';
};

describe('runHandler', () => {
  test('runs a command in the container without a time limit of its own', async () => {
    let seen: unknown;
    await run(
      { exec: { command: ['sh', '-c', 'true'] } },
      {
        execSync: (containerId, argv, timeoutMs) => {
          seen = { containerId, argv, timeoutMs };
          return Promise.resolve(exited(0));
        },
      },
    );
    expect(seen).toEqual({ containerId: 'c1', argv: ['sh', '-c', 'true'], timeoutMs: 0 });
  });

  test('a command that fails is an error with its output', async () => {
    const execSync = () => Promise.resolve(exited(3, 'no luck\n'));
    expect(await failure(run({ exec: { command: ['a', 'b'] } }, { execSync }))).toBe(
      'Exec lifecycle hook ([a b]) for container "app" in pod "shop/web" failed: command exited with 3, message: "no luck"',
    );
  });

  test('a runtime that fails is an error', async () => {
    const execSync = () => Promise.reject(new Error('no such container'));
    expect(await failure(run({ exec: { command: ['a'] } }, { execSync }))).toMatch(
      /failed: no such container$/,
    );
  });

  test('sends an HTTP request to a named port of the pod, and accepts any response', async () => {
    const { port, seen } = await serve(500);
    await run({ httpGet: { path: '/bye', port: 'http' } }, {}, [{ name: 'http', containerPort: port }]);
    expect(seen.map(({ url, headers }) => [url, headers['user-agent']])).toEqual([['/bye', 'prober/test']]);
  });

  test('connects by TCP', async () => {
    const { port } = await serve(200);
    await expect(run({ tcpSocket: { port } })).resolves.toBeUndefined();
  });

  test.each<[string, LifecycleHandler, Partial<LifecycleDeps>, RegExp]>([
    ['no server', { httpGet: { path: '/x', port: 1 } }, {}, /^HTTP lifecycle hook \(\/x\) .*ECONNREFUSED/],
    ['no listener', { tcpSocket: { port: 1 } }, {}, /^TCP lifecycle hook \(1\) .*ECONNREFUSED/],
    ['no such port', { httpGet: { port: 'http' } }, {}, /no port "http"/],
    ['no address', { httpGet: { port: 80 } }, { podIP: () => '' }, /no address/],
    ['no action', {}, {}, /the hook has no action/],
  ])('is an error with %s', async (_, handler, deps, message) => {
    expect(await failure(run(handler, deps))).toMatch(message);
  });

  test('rejects with the reason when it is aborted', async () => {
    const abort = new AbortController();
    const reason = new Error('grace period is over');
    const execSync: LifecycleDeps['execSync'] = (_id, _argv, _timeoutMs, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('cancelled')));
        abort.abort(reason);
      });
    await expect(run({ exec: { command: ['a'] } }, { execSync }, [], abort.signal)).rejects.toBe(reason);
  });
});
