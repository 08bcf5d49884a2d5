/** Commands that work inside of containers, on a running agent. */
import { chmod, mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { isReady, TestAgent } from '../../testing/agent.ts';
import { CLI, type CliProcess, type Ended, runCli, startCli } from '../../testing/cli.ts';
import { eventually } from '../../testing/wait.ts';

let agent: TestAgent;
const run = (args: readonly string[], input: string | Uint8Array = ''): Promise<Ended> =>
  runCli(agent, args, input);
const start = (args: readonly string[]): CliProcess => startCli(agent, args);

const podText = (name: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'web' } },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'main',
          image: 'local/busybox:1',
          command: [
            'sh',
            '-c',
            `echo hello from ${name}; trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done`,
          ],
        },
      ],
    },
  });

beforeAll(async () => {
  agent = await TestAgent.create({ endpoint: inject('criEndpoint'), program: [CLI, 'run'] });
  await agent.put('one.json', podText('one'));
  await agent.put('two.json', podText('two'));
  await Promise.all([agent.waitFor('one', isReady), agent.waitFor('two', isReady)]);
});
afterAll(() => agent[Symbol.asyncDispose]());

describe('exec', () => {
  test('sets user, directory and variables', async () => {
    const script = 'echo "$(id -un) $(pwd) $A"';
    expect(
      await run(['exec', '-u', 'app', '-w', '/srv', '-e', 'A=b c', 'one', '--', 'sh', '-c', script]),
    ).toEqual({
      code: 0,
      out: 'app /srv b c\n',
      err: '',
    });
    expect((await run(['exec', '-w', '/no/such', 'one', '--', 'true'])).code).toBe(126);
  });

  test('runs in the background', async () => {
    const script = 'until [ -e /tmp/go ]; do sleep 0.05; done; echo done > /tmp/result';
    expect((await run(['exec', '-d', 'one', '--', 'sh', '-c', script])).code).toBe(0);
    await run(['exec', 'one', '--', 'touch', '/tmp/go']);
    await eventually(async () => (await run(['exec', 'one', '--', 'cat', '/tmp/result'])).out === 'done\n');
  });

  test('exits with 125 when nodeagent itself fails', async () => {
    expect((await run(['exec', 'none', '--', 'true'])).code).toBe(125);
    expect((await run(['exec', 'one', '-c', 'none', '--', 'true'])).code).toBe(125);
    expect((await run(['exec', '--socket', join(agent.folder, 'none.sock'), 'one', '--', 'true'])).code).toBe(
      125,
    );
  });
});

describe('cp', () => {
  test('copies a directory into a container and back', async () => {
    const from = join(agent.folder, 'from');
    await mkdir(join(from, 'sub'), { recursive: true });
    const data = Buffer.alloc(300_000, 'data\n');
    await writeFile(join(from, 'sub/data'), data);
    await writeFile(join(from, 'run.sh'), '#!/bin/sh\n');
    await chmod(join(from, 'run.sh'), 0o755);
    await symlink('/etc/passwd', join(from, 'link'));
    expect(await run(['cp', 'from', 'one:/tmp/copy'])).toEqual({ code: 0, out: '', err: '' });
    expect((await run(['exec', 'one', '--', 'wc', '-c', '/tmp/copy/sub/data'])).out).toBe(
      '300000 /tmp/copy/sub/data\n',
    );
    const back = await run(['cp', 'one:/tmp/copy', 'back']);
    expect(back).toEqual({ code: 0, out: '', err: 'skipped copy/link: it is a symbolic link\n' });
    expect(await readFile(join(agent.folder, 'back/sub/data'))).toEqual(data);
    expect((await stat(join(agent.folder, 'back/run.sh'))).mode & 0o777).toBe(0o755);
    await rm(from, { recursive: true });
  });

  test('copies a file into an existing directory, and reports a missing one', async () => {
    await writeFile(join(agent.folder, 'file'), 'x');
    expect((await run(['cp', 'file', 'one:/srv/'])).code).toBe(0);
    expect((await run(['exec', 'one', '--', 'cat', '/srv/file'])).out).toBe('x');
    expect((await run(['cp', 'one:/srv/file', '.'])).code).toBe(0);
    expect(await run(['cp', 'one:/no/such', 'here'])).toMatchObject({ code: 1 });
    expect((await run(['cp', 'file', 'one:/no/such/dir/file'])).err).toMatch(/tar in the container failed/);
  });
});

describe('logs', () => {
  test('prints the logs of all selected pods with prefixes', async () => {
    expect((await run(['logs', '-l', 'app=web'])).out).toBe(
      '[one-n1/main] hello from one\n[two-n1/main] hello from two\n',
    );
    expect((await run(['logs', '-l', 'app=none'])).err).toBe('nodeagent: no pods are selected\n');
    expect((await run(['logs', '-f', '-l', 'app=web', '--max-log-requests', '1'])).err).toMatch(
      /more than 1/,
    );
    const child = start(['logs', '-f', '-l', 'app=web']);
    let seen = '';
    child.stdout?.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    await eventually(() => seen.includes('[one-n1/main]') && seen.includes('[two-n1/main]'));
    child.kill('SIGTERM');
    expect((await child.ended).code).toBe(143);
  });
});

describe('complete', () => {
  test('offers pods and containers of the running agent', async () => {
    const complete = async (line: string): Promise<string> => (await run(['complete', line])).out;
    expect(await complete('nodeagent logs ')).toBe('one-n1\t\ntwo-n1\t\n');
    expect(await complete('nodeagent logs tw')).toBe('two-n1\t\n');
    expect(await complete('nodeagent logs one -c ')).toBe('main\t\n');
    expect(await complete('nodeagent get pods ')).toBe('one-n1\t\ntwo-n1\t\n');
    expect(await complete('nodeagent apply -f ')).toBe(':files\n');
    expect(await complete('nodeagent expl')).toBe('explain\tshow the fields of a type\n');
  });
});
