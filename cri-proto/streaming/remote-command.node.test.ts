import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { type CriConnection, connectRuntime } from '../client/connection.ts';
import type { PodSandboxConfig } from '../gen/cri-v1.ts';
import type { MessageInput } from '../message.ts';
import { RemoteCommandError } from './errors.ts';
import { execStream } from './remote-command.ts';
import type { RemoteCommandOptions, TerminalSize } from './session.ts';
import { execWebSocket } from './websocket-command.ts';

let connection: CriConnection;
let podSandboxId: string;
let containerId: string;
const never = new AbortController().signal;

beforeAll(async () => {
  connection = connectRuntime({ endpoint: inject('criEndpoint'), log: silentLogger });
  await connection.whenConnected();
  const uid = randomUUID();
  const config: MessageInput<PodSandboxConfig> = {
    metadata: { name: `stream-${uid}`, uid, namespace: 'test', attempt: 0 },
    logDirectory: '',
    linux: { securityContext: { namespaceOptions: { network: 'NODE' } } },
  };
  ({ podSandboxId } = await connection.runtime.runPodSandbox({ config }));
  ({ containerId } = await connection.runtime.createContainer({
    podSandboxId,
    sandboxConfig: config,
    config: {
      metadata: { name: 'main', attempt: 0 },
      image: { image: 'local/busybox:1' },
      command: ['sh', '-c', 'while read -r text; do echo "got $text"; done; sleep 1000'],
      stdin: true,
      linux: { securityContext: { namespaceOptions: { network: 'NODE' } } },
    },
  }));
  await connection.runtime.startContainer({ containerId });
});

afterAll(async () => {
  await connection.runtime.stopPodSandbox({ podSandboxId });
  await connection.runtime.removePodSandbox({ podSandboxId });
  connection.close();
});

async function exec(
  cmd: readonly string[],
  options: Partial<RemoteCommandOptions> = {},
): Promise<{ readonly exitCode: number; readonly stdout: Buffer; readonly stderr: string }> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  const { tty = false, stdin, resize, signal = never } = options;
  const { url } = await connection.runtime.exec({
    containerId,
    cmd,
    tty,
    stdin: stdin !== undefined,
    stdout: true,
    stderr: !tty,
  });
  const { exitCode } = await execStream(url, {
    tty,
    stdin,
    resize,
    signal,
    stdout: options.stdout ?? ((chunk) => void out.push(Buffer.from(chunk))),
    stderr: (chunk) => void err.push(Buffer.from(chunk)),
  });
  return { exitCode, stdout: Buffer.concat(out), stderr: Buffer.concat(err).toString() };
}

async function* once(...parts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}

describe('execStream on a real runtime', () => {
  test('ends the input of a command that reads to its end', async () => {
    const { exitCode, stdout } = await exec(['cat'], { stdin: once('hi\n') });
    expect({ exitCode, stdout: stdout.toString() }).toEqual({ exitCode: 0, stdout: 'hi\n' });
  });

  test('returns the exit code and separates the outputs', async () => {
    const { exitCode, stdout, stderr } = await exec(['sh', '-c', 'echo out; echo err >&2; exit 7']);
    expect({ exitCode, stdout: stdout.toString(), stderr }).toEqual({
      exitCode: 7,
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  test('transfers 10 MB out intact', async () => {
    const { exitCode, stdout } = await exec(['sh', '-c', 'yes 0123456789abcde | head -c 10000000']);
    const expected = Buffer.alloc(10_000_000, '0123456789abcde\n');
    expect(exitCode).toBe(0);
    expect(stdout.length).toBe(expected.length);
    expect(stdout.equals(expected)).toBe(true);
  });

  test('transfers 10 MB in intact', async () => {
    const data = Buffer.alloc(10_000_000, 'another text of an odd length\n');
    const pieces = Array.from({ length: 100 }, (_, index) =>
      data.subarray(index * 100_000, (index + 1) * 100_000),
    );
    const { stdout } = await exec(['sha256sum'], { stdin: once(...pieces) });
    expect(stdout.toString().split(' ')[0]).toBe(createHash('sha256').update(data).digest('hex'));
  });

  test('survives a slow reader', async () => {
    let bytes = 0;
    await exec(['sh', '-c', 'yes | head -c 3000000'], {
      async stdout(chunk) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        bytes += chunk.byteLength;
      },
    });
    expect(bytes).toBe(3_000_000);
  });

  test('has a terminal that can be resized', async () => {
    const shown = Promise.withResolvers<void>();
    async function* sizes(): AsyncGenerator<TerminalSize> {
      yield { width: 101, height: 33 };
      await shown.promise;
      yield { width: 120, height: 40 };
    }
    let text = '';
    const finished = exec(
      [
        'sh',
        '-c',
        'while [ "$(stty size 2>/dev/null)" != "33 101" ]; do sleep 0.02; done; echo first; while [ "$(stty size 2>/dev/null)" != "40 120" ]; do sleep 0.02; done; echo second',
      ],
      {
        tty: true,
        resize: sizes(),
        stdout(chunk) {
          text += Buffer.from(chunk).toString();
          if (text.includes('first')) shown.resolve();
        },
      },
    );
    expect((await finished).exitCode).toBe(0);
    expect(text).toBe('first\r\nsecond\r\n');
  });

  test('reports a command that does not exist', async () => {
    await expect(exec(['/no/such/program'])).rejects.toThrow(RemoteCommandError);
  });

  test('ends on abort while the command runs', async () => {
    const controller = new AbortController();
    const running = exec(['sh', '-c', 'echo started; sleep 1000'], {
      signal: controller.signal,
      stdout: () => controller.abort(new Error('stopped by the user')),
    });
    await expect(running).rejects.toThrow('stopped by the user');
  });

  test('attaches to a running container and leaves it running', async () => {
    const { url } = await connection.runtime.attach({ containerId, stdin: true, stdout: true, stderr: true });
    const detach = new AbortController();
    let text = '';
    const result = await execStream(url, {
      tty: false,
      signal: never,
      detach: detach.signal,
      // Repeated: the runtime may forward the first input before it forwards output.
      stdin: (async function* () {
        while (!detach.signal.aborted) {
          yield Buffer.from('one\n');
          await new Promise((resolve) => setTimeout(resolve, 500));
        }
      })(),
      stdout(chunk) {
        text += Buffer.from(chunk).toString();
        if (text.includes('got one')) detach.abort();
      },
      stderr: () => undefined,
    });
    expect(result.detached).toBe(true);
    const { status } = await connection.runtime.containerStatus({ containerId });
    expect(status?.state).toBe('CONTAINER_RUNNING');
  });
});

describe('execWebSocket on a real runtime', () => {
  async function execOverWebSocket(cmd: readonly string[], stdin?: AsyncIterable<Uint8Array>) {
    const { url } = await connection.runtime.exec({
      containerId,
      cmd,
      tty: false,
      stdin: stdin !== undefined,
      stdout: true,
      stderr: true,
    });
    const out: Buffer[] = [];
    const { exitCode } = await execWebSocket(url, {
      tty: false,
      signal: never,
      stdin,
      stdout: (chunk) => void out.push(Buffer.from(chunk)),
      stderr: (chunk) => void out.push(Buffer.from(chunk)),
    });
    return { exitCode, output: Buffer.concat(out).toString() };
  }

  test('carries input, output and the exit code', async () => {
    const result = await execOverWebSocket(
      ['sh', '-c', 'read -r text; echo "$text"; exit 7'],
      once('hello\n'),
    );
    expect(result).toEqual({ exitCode: 7, output: 'hello\n' });
  });

  test('transfers 2 MB out intact', async () => {
    const { exitCode, output } = await execOverWebSocket([
      'sh',
      '-c',
      'yes 0123456789abcde | head -c 2000000',
    ]);
    expect(exitCode).toBe(0);
    expect(output === Buffer.alloc(2_000_000, '0123456789abcde\n').toString()).toBe(true);
  });

  test('reports a server without WebSocket', async () => {
    const refused = execWebSocket('http://127.0.0.1:1/exec/token', { tty: false, signal: never });
    await expect(refused).rejects.toThrow('cannot open a WebSocket');
  });
});
