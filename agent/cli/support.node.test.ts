/** The support bundle, and the commands of the troubleshooting page, on a running agent. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { isReady, TestAgent } from '../../testing/agent.ts';
import { CLI, type Ended, runCli } from '../../testing/cli.ts';

const SECRET = 'hunter2hunter2';
const WAIT = 'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done';

let agent: TestAgent;
const run = (args: readonly string[], input = ''): Promise<Ended> => runCli(agent, args, input);

beforeAll(async () => {
  agent = await TestAgent.create({
    endpoint: inject('criEndpoint'),
    program: [CLI, 'run'],
    flags: [`--manifest-url-header=authorization:${SECRET}`],
  });
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', annotations: { note: SECRET } },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'main',
          image: 'local/busybox:1',
          command: ['sh', '-c', `echo started; : ${SECRET}; ${WAIT}`],
          env: [{ name: 'PASSWORD', value: SECRET }],
        },
      ],
    },
  };
  await agent.put('web.json', JSON.stringify(pod));
  await agent.waitFor('web', isReady);
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's' },
    stringData: { password: SECRET },
  };
  await run(['apply', '-f', '-'], JSON.stringify(secret));
  const bad = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'bad' }, spec: { hostname: `_${SECRET}` } };
  await agent.put('bad.json', JSON.stringify(bad));
});
afterAll(() => agent[Symbol.asyncDispose]());

test('a support bundle contains pods and checks, and none of the planted secrets', async () => {
  expect((await run(['support-bundle', '-o', 'bundle.tar.gz'])).code).toBe(0);
  const { stdout } = await promisify(execFile)('tar', ['-xzOf', join(agent.folder, 'bundle.tar.gz')]);
  expect(stdout).toContain('web-n1');
  expect(stdout).toContain('"findings"');
  expect(stdout).not.toContain(SECRET);
  expect(stdout).not.toContain(Buffer.from(SECRET).toString('base64'));
  // A file that exists is never replaced.
  expect((await run(['support-bundle', '-o', 'bundle.tar.gz'])).err).toMatch(/cannot write bundle\.tar\.gz/);
});

test('the commands of the troubleshooting page work', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/troubleshooting.md'), 'utf8');
  const blocks = [...page.matchAll(/```sh\n([^`]+)```/g)].map(([, text = '']) => text);
  const commands = blocks.flatMap((text) => text.split('\n')).filter((line) => line.startsWith('nodeagent '));
  expect(commands.length).toBeGreaterThan(8);
  const bundle = join(agent.folder, 'page.tar.gz');
  for (const line of commands) {
    const args = line
      .split(' ')
      .slice(1)
      .map((word) => (word.startsWith('/tmp/') ? bundle : word));
    const { code, err } = await run(args);
    expect([line, code, err]).toEqual([line, 0, '']);
  }
});
