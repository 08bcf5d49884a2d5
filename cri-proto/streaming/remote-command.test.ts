import { describe, expect, test } from 'vitest';
import { RemoteCommandError, StreamingError } from './errors.ts';
import { execStream } from './remote-command.ts';
import type { RemoteCommandOptions, TerminalSize } from './session.ts';
import { type ServerSession, startSpdyServer } from './spdy-server.fixture.ts';

const SUCCESS = { metadata: {}, status: 'Success' };
const never = new AbortController().signal;

function collector() {
  const parts: Buffer[] = [];
  return {
    sink: (chunk: Uint8Array): void => void parts.push(Buffer.from(chunk)),
    text: () => Buffer.concat(parts).toString(),
  };
}

async function* bytesOf(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

async function withServer<T>(
  run: (session: ServerSession) => Promise<void>,
  client: (url: string) => Promise<T>,
): Promise<T> {
  await using server = await startSpdyServer({ run });
  return await client(server.url);
}

const quiet: RemoteCommandOptions = { tty: false, stdout: () => undefined, signal: never };

describe('execStream', () => {
  test('carries input, both outputs and a half-close', async () => {
    const stdout = collector();
    const stderr = collector();
    const result = await withServer(
      async (session) => {
        await session.opened('error', 'stdin', 'stdout', 'stderr');
        await session.halfClosed('stdin');
        session.send('stdout', session.received('stdin').toUpperCase());
        session.send('stderr', 'warned');
        session.finish(SUCCESS);
      },
      (url) =>
        execStream(url, {
          tty: false,
          signal: never,
          stdin: bytesOf('hello ', 'there'),
          stdout: stdout.sink,
          stderr: stderr.sink,
        }),
    );
    expect(result).toEqual({ exitCode: 0, detached: false });
    expect(stdout.text()).toBe('HELLO THERE');
    expect(stderr.text()).toBe('warned');
  });

  test('reads the exit code out of the status', async () => {
    const result = await withServer(
      async (session) => {
        await session.opened('error', 'stdout');
        session.finish({
          status: 'Failure',
          reason: 'NonZeroExitCode',
          details: { causes: [{ reason: 'ExitCode', message: '137' }] },
        });
      },
      (url) => execStream(url, quiet),
    );
    expect(result.exitCode).toBe(137);
  });

  test.each<[string, object | string, RegExp]>([
    ['a failure', { status: 'Failure', reason: 'InternalError', message: 'no such file' }, /no such file/],
    ['an exit code that is none', { status: 'Failure', reason: 'NonZeroExitCode', message: 'm' }, /m/],
    ['something else', 'panic!', /panic!/],
    ['no status', '', /without an exit status/],
  ])('throws for %s', async (_, status, message) => {
    const failing = withServer(
      async (session) => {
        await session.opened('error', 'stdout');
        session.finish(status);
      },
      (url) => execStream(url, quiet),
    );
    await expect(failing).rejects.toThrow(RemoteCommandError);
    await expect(failing).rejects.toThrow(message);
  });

  test('sends terminal sizes and opens no stderr with a terminal', async () => {
    async function* sizes(): AsyncGenerator<TerminalSize> {
      yield { width: 80, height: 24 };
      yield { width: 132, height: 50 };
    }
    const seen = Promise.withResolvers<readonly string[]>();
    await withServer(
      async (session) => {
        await session.opened('error', 'stdout', 'resize');
        await session.halfClosed('resize');
        seen.resolve(session.received('resize').trimEnd().split('\n'));
        expect(() => session.idOf('stderr')).toThrow('no stream');
        session.finish(SUCCESS);
      },
      (url) => execStream(url, { ...quiet, tty: true, stderr: () => undefined, resize: sizes() }),
    );
    expect(await seen.promise).toEqual(['{"Width":80,"Height":24}', '{"Width":132,"Height":50}']);
  });

  test('applies backpressure while a sink is busy, and loses nothing', async () => {
    const piece = Buffer.alloc(32 * 1024, 'x');
    const pieces = 200;
    let received = 0;
    await withServer(
      async (session) => {
        await session.opened('error', 'stdout');
        for (let sent = 0; sent < pieces; sent += 1) session.send('stdout', piece);
        session.finish(SUCCESS);
      },
      (url) =>
        execStream(url, {
          ...quiet,
          async stdout(chunk) {
            await new Promise((resolve) => setImmediate(resolve));
            received += chunk.byteLength;
          },
        }),
    );
    expect(received).toBe(piece.length * pieces);
  });

  test('sends more than a window to a server that keeps none', async () => {
    const piece = 'y'.repeat(100_000);
    const size = Promise.withResolvers<number>();
    await withServer(
      async (session) => {
        await session.opened('error', 'stdin', 'stdout');
        await session.halfClosed('stdin');
        size.resolve(session.received('stdin').length);
        session.finish(SUCCESS);
      },
      (url) => execStream(url, { ...quiet, stdin: bytesOf(piece, piece, piece) }),
    );
    expect(await size.promise).toBe(300_000);
  });

  test('responds to pings', async () => {
    await withServer(
      async (session) => {
        await session.opened('error', 'stdout');
        session.sendFrame({ kind: 'ping', id: 2 });
        session.sendFrame({
          kind: 'data',
          streamId: session.idOf('stdout'),
          fin: false,
          data: Buffer.from('x'),
        });
        while (!session.frames.some((frame) => frame.kind === 'ping' && frame.id === 2)) {
          await new Promise((resolve) => setImmediate(resolve));
        }
        session.finish(SUCCESS);
      },
      async (url) => expect(await execStream(url, quiet)).toMatchObject({ exitCode: 0 }),
    );
  });

  test('ends when the command ends, even with pending input', async () => {
    let isReturned = false;
    const endless: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => undefined),
        return: () => {
          isReturned = true;
          return Promise.resolve({ done: true, value: undefined });
        },
      }),
    };
    const result = await withServer(
      async (session) => {
        await session.opened('error', 'stdin', 'stdout');
        session.finish(SUCCESS);
      },
      (url) => execStream(url, { ...quiet, stdin: endless }),
    );
    expect(result.exitCode).toBe(0);
    expect(isReturned).toBe(true);
  });

  test('rejects with the reason of its signal and closes the connection', async () => {
    const controller = new AbortController();
    const closed = Promise.withResolvers<void>();
    const aborted = withServer(
      async (session) => {
        await session.opened('error', 'stdout');
        controller.abort(new Error('went away'));
        await session.closed;
        closed.resolve();
      },
      (url) => execStream(url, { ...quiet, signal: controller.signal }),
    );
    await expect(aborted).rejects.toThrow('went away');
    await closed.promise;
  });

  test('detaches without an error', async () => {
    const controller = new AbortController();
    const result = await withServer(
      async (session) => {
        await session.opened('error', 'stdout');
        controller.abort();
        await session.closed;
      },
      (url) => execStream(url, { ...quiet, detach: controller.signal }),
    );
    expect(result).toEqual({ exitCode: 0, detached: true });
  });

  test.each<[string, (session: ServerSession) => void, RegExp]>([
    ['is cut', (session) => session.cut(), /without an exit status/],
    [
      'sends garbage',
      (session) =>
        session.sendFrame({
          kind: 'synStream',
          streamId: 1,
          associatedTo: 0,
          priority: 0,
          fin: false,
          unidirectional: false,
          headerBlock: Buffer.from('garbage'),
        }),
      /header block/,
    ],
  ])('fails when the connection %s', async (_, breakIt, message) => {
    const failing = withServer(
      async (session) => {
        await session.opened('error', 'stdout');
        breakIt(session);
        await session.closed;
      },
      (url) => execStream(url, quiet),
    );
    await expect(failing).rejects.toThrow(message);
  });

  test('fails with the error of a source or a sink', async () => {
    const serve = async (session: ServerSession): Promise<void> => {
      await session.opened('error', 'stdout');
      session.send('stdout', 'x');
      await session.closed;
    };
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a');
      throw new Error('source broke');
    }
    const sink = (): never => {
      throw new Error('sink broke');
    };
    await expect(withServer(serve, (url) => execStream(url, { ...quiet, stdout: sink }))).rejects.toThrow(
      'sink broke',
    );
    await expect(withServer(serve, (url) => execStream(url, { ...quiet, stdin: broken() }))).rejects.toThrow(
      'source broke',
    );
  });

  test('reports a rejection with the message of the server', async () => {
    await using server = await startSpdyServer({
      run: () => Promise.resolve(),
      refuse: { status: 404, body: 'page not found' },
    });
    const refused = execStream(server.url, quiet);
    await expect(refused).rejects.toThrow(StreamingError);
    await expect(refused).rejects.toThrow(/404: page not found/);
  });

  test('rejects a protocol that it did not offer, and a URL that is not HTTP', async () => {
    await using server = await startSpdyServer({ run: () => Promise.resolve(), protocol: 'v9' });
    await expect(execStream(server.url, quiet)).rejects.toThrow(/protocol v9/);
    await expect(execStream('ftp://127.0.0.1/token', quiet)).rejects.toThrow(/not HTTP/);
  });

  test('does not include the token of the URL in errors', async () => {
    const failing = execStream('http://127.0.0.1:1/exec/secret-token', quiet);
    const error: unknown = await failing.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StreamingError);
    expect(String(error)).not.toContain('secret-token');
  });
});
