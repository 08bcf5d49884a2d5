import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { ApiError, createLocalApi, type LocalApi } from './api-client.ts';
import type { CliContext } from './context.ts';
import { InterruptedError } from './errors.ts';
import { isDaemonStart, runCommand } from './main.ts';

interface Heard {
  out: string;
  err: string;
}

function createContext(extra: Partial<CliContext> = {}): {
  readonly context: CliContext;
  readonly heard: Heard;
} {
  const heard: Heard = { out: '', err: '' };
  const write = (stream: keyof Heard) => (chunk: string | Uint8Array) => {
    heard[stream] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    return Promise.resolve();
  };
  const context: CliContext = {
    out: { write: write('out') },
    err: { write: write('err') },
    input: {
      isTerminal: false,
      async *read() {},
      takeTerminal: () => {
        throw new Error('there is no terminal');
      },
      close: () => undefined,
    },
    env: {},
    clock: createFakeClock(),
    signal: new AbortController().signal,
    cwd: '/',
    connect: (socketPath) => createLocalApi(socketPath),
    ...extra,
  };
  return { context, heard };
}

const answering = (json: LocalApi['json']): Partial<CliContext> => ({
  connect: (socketPath) => ({ socketPath, json, stream: () => Promise.reject(new Error('not asked for')) }),
});

describe('isDaemonStart', () => {
  test.each([
    [[], true],
    [['run'], true],
    [['--max-pods', '5'], true],
    [['ps'], false],
    [['help'], false],
  ])('tells of %j: %s', (argv, expected) => {
    expect(isDaemonStart(argv)).toBe(expected);
  });
});

describe('runCommand', () => {
  test('lists the commands', async () => {
    const { context, heard } = createContext();
    expect(await runCommand(['help'], context)).toBe(0);
    expect(heard.out).toMatch(/^ {2}logs +print what a container wrote$/m);
  });

  test.each([[['help', 'exec']], [['exec', '--help']], [['exec', '-h', 'web']]])(
    'explains a command: %j',
    async (argv) => {
      const { context, heard } = createContext();
      expect(await runCommand(argv, context)).toBe(0);
      expect(heard.out).toMatch(/^nodeagent exec \[options\] POD -- COMMAND/);
      expect(heard.out).toContain('-t, --tty');
    },
  );

  test.each<[string[], RegExp]>([
    [['pps'], /there is no command "pps"; did you mean ps\?\nsee: nodeagent help\n/],
    [['logs'], /logs needs one POD.*\nsee: nodeagent logs --help\n/],
    [['ps', 'web'], /ps takes no names/],
    [['ps', '-o', 'xml'], /--output is "xml", must be one of wide, json, yaml, name/],
    [['get', 'podz'], /"podz" is not a type; did you mean pods\?/],
    [['exec', 'web', 'ls', '-l'], /unknown option -l; the command and its own options go behind --/],
    [['exec', 'web', '--'], /exec needs a command/],
    [['logs', 'web', '--since', '5m', '--since-time', 'x'], /give either --since or --since-time/],
    [['delete', 'pod', 'web', '--now', '--grace-period', '3'], /give either --now or --grace-period/],
    [['apply'], /apply needs -f FILE/],
  ])('exits with 2 and says why: %j', async (argv, message) => {
    const { context, heard } = createContext(answering(() => Promise.resolve({ items: [] })));
    expect(await runCommand(argv, context)).toBe(2);
    expect(heard.err).toMatch(message);
  });

  test('exits with 1 when the agent does not run', async () => {
    const { context, heard } = createContext({ env: { NODEAGENT_SOCKET: '/tmp/na-no-such.sock' } });
    expect(await runCommand(['ps'], context)).toBe(1);
    expect(heard.err).toMatch(/^nodeagent: nothing answers on \/tmp\/na-no-such\.sock/);
  });

  test('prefers the socket of the option over that of the environment', async () => {
    const { context, heard } = createContext({ env: { NODEAGENT_SOCKET: '/tmp/na-other.sock' } });
    expect(await runCommand(['ps', '--socket', '/tmp/na-no-such.sock'], context)).toBe(1);
    expect(heard.err).toContain('/tmp/na-no-such.sock');
  });

  test('exits with 1 and the agent’s words when it refuses', async () => {
    const refuse = () => Promise.reject(new ApiError(500, 'InternalError', 'the store is broken'));
    const { context, heard } = createContext(answering(refuse));
    expect(await runCommand(['ps'], context)).toBe(1);
    expect(heard.err).toBe('nodeagent: the store is broken\n');
  });

  test('lets nobody steer the terminal by the words of a failure', async () => {
    const refusal = new ApiError(400, 'BadRequest', 'no\u001b[2J\u0007 such\npod\u009b');
    const { context, heard } = createContext(answering(() => Promise.reject(refusal)));
    expect(await runCommand(['ps'], context)).toBe(1);
    expect(heard.err).toBe('nodeagent: no\\x1b[2J\\x07 such\npod\\x9b\n');
  });

  test('exits silently when nobody reads any more', async () => {
    const closed = () => Promise.reject(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    const { context, heard } = createContext({ out: { write: closed } });
    expect(await runCommand(['help'], context)).toBe(141);
    expect(heard.err).toBe('');
  });

  test('exits as the signal that broke it off would have made it', async () => {
    const signal = AbortSignal.abort(new InterruptedError(130));
    const gone = () => Promise.reject(new Error('aborted'));
    const { context, heard } = createContext({ ...answering(gone), signal });
    expect(await runCommand(['ps'], context)).toBe(130);
    expect(heard.err).toBe('');
  });

  test('refuses answers that are not what they should be', async () => {
    const { context, heard } = createContext(answering(() => Promise.resolve({ items: 'none' })));
    expect(await runCommand(['ps'], context)).toBe(1);
    expect(heard.err).toMatch(/has no list items/);
  });
});
