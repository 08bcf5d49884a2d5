import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { ApiError, createLocalApi, type LocalApi } from './client/api-client.ts';
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

const responding = (json: LocalApi['json']): Partial<CliContext> => ({
  connect: (socketPath) => ({ socketPath, json, stream: () => Promise.reject(new Error('not asked for')) }),
});

describe('isDaemonStart', () => {
  test.each([
    [[], true],
    [['run'], true],
    [['--max-pods', '5'], true],
    [['ps'], false],
    [['help'], false],
  ])('returns for %j: %s', (argv, expected) => {
    expect(isDaemonStart(argv)).toBe(expected);
  });
});

describe('runCommand', () => {
  test('lists the commands', async () => {
    const { context, heard } = createContext();
    expect(await runCommand(['help'], context)).toBe(0);
    expect(heard.out).toMatch(/^ {2}logs +print the log of a container$/m);
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
    [['pps'], /unknown command "pps"; did you mean ps\?\nsee: nodeagent help\n/],
    [['logs'], /logs requires one POD or -l SELECTOR.*\nsee: nodeagent logs --help\n/],
    [['ps', 'web'], /ps takes no arguments/],
    [['ps', '-o', 'xml'], /--output: invalid value "xml": must be one of wide, json, yaml, name/],
    [['get', 'podz'], /"podz" is not a resource type; did you mean pods\?/],
    [['exec', 'web', 'ls', '-l'], /unknown option -l; put the command and its options after --/],
    [['exec', 'web', '--'], /exec requires a command/],
    [['logs', 'web', '--since', '5m', '--since-time', 'x'], /use either --since or --since-time/],
    [['delete', 'pod', 'web', '--now', '--grace-period', '3'], /use either --now or --grace-period/],
    [['apply'], /apply needs -f FILE/],
    [['exec', '-e', 'A B', 'web', '--', 'ls'], /--env: invalid value "A B": must be NAME=VALUE/],
    [['exec', '-d', '-i', 'web', '--', 'ls'], /use either --detach or --stdin/],
    [['port-forward', '--address', 'host', 'web', '80'], /--address: invalid value "host"/],
    [['cp', 'a', 'b'], /exactly one side must be POD:PATH/],
    [['cp', 'web:/a', 'db:/b'], /exactly one side must be POD:PATH/],
    [['get', 'pods', '-o', 'go-template={{.}}'], /Go templates are not supported; use jsonpath/],
    [['get', 'pods', 'web', '-l', 'a=b'], /use either names or a selector/],
    [['delete', 'pods', 'web', '-l', 'a=b'], /requires types without names/],
    [['wait', 'pods'], /wait requires --for=CONDITION/],
  ])('exits with 2 and reports why: %j', async (argv, message) => {
    const { context, heard } = createContext(responding(() => Promise.resolve({ items: [] })));
    expect(await runCommand(argv, context)).toBe(2);
    expect(heard.err).toMatch(message);
  });

  test('exits with 1 when the agent does not run', async () => {
    const { context, heard } = createContext({ env: { NODEAGENT_SOCKET: '/tmp/na-no-such.sock' } });
    expect(await runCommand(['ps'], context)).toBe(1);
    expect(heard.err).toMatch(/^nodeagent: cannot connect to \/tmp\/na-no-such\.sock/);
  });

  test('prefers the socket of the option over that of the environment', async () => {
    const { context, heard } = createContext({ env: { NODEAGENT_SOCKET: '/tmp/na-other.sock' } });
    expect(await runCommand(['ps', '--socket', '/tmp/na-no-such.sock'], context)).toBe(1);
    expect(heard.err).toContain('/tmp/na-no-such.sock');
  });

  test('exits with 1 and the message of the agent when it rejects a request', async () => {
    const refuse = () => Promise.reject(new ApiError(500, 'InternalError', 'the store is broken'));
    const { context, heard } = createContext(responding(refuse));
    expect(await runCommand(['ps'], context)).toBe(1);
    expect(heard.err).toBe('nodeagent: the store is broken\n');
  });

  test('escapes control characters of an error message', async () => {
    const refusal = new ApiError(400, 'BadRequest', 'no\u001b[2J\u0007 such\npod\u009b');
    const { context, heard } = createContext(responding(() => Promise.reject(refusal)));
    expect(await runCommand(['ps'], context)).toBe(1);
    expect(heard.err).toBe('nodeagent: no\\x1b[2J\\x07 such\npod\\x9b\n');
  });

  test('exits silently when the output is closed', async () => {
    const closed = () => Promise.reject(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    const { context, heard } = createContext({ out: { write: closed } });
    expect(await runCommand(['help'], context)).toBe(141);
    expect(heard.err).toBe('');
  });

  test('exits with the code of the signal that interrupted it', async () => {
    const signal = AbortSignal.abort(new InterruptedError(130));
    const gone = () => Promise.reject(new Error('aborted'));
    const { context, heard } = createContext({ ...responding(gone), signal });
    expect(await runCommand(['ps'], context)).toBe(130);
    expect(heard.err).toBe('');
  });

  test('rejects malformed responses', async () => {
    const { context, heard } = createContext(responding(() => Promise.resolve({ items: 'none' })));
    expect(await runCommand(['ps'], context)).toBe(1);
    expect(heard.err).toMatch(/has no list items/);
  });
});
