import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, rm, rmdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { type FieldError, formatFieldError } from '#api/meta/field-error.ts';
import { isReady, TestAgent } from '../../testing/agent.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';

const good = (name: string, text = 'one'): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 0
  containers:
  - {name: c, image: local/busybox:1, command: [sleep, '1000'], env: [{name: TEXT, value: ${text}}]}
`;

const LEVELS = 'abcdefghij'.split('');

/** Each level holds the one before nine times. */
const aliasBomb = (): string =>
  [
    'a: &a [x, x, x, x, x, x, x, x, x]',
    ...LEVELS.slice(1).map((name, index) => {
      const before = LEVELS[index];
      return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(', ')}]`;
    }),
  ].join('\n');

interface BadManifest {
  readonly file: string;
  readonly content: string | Uint8Array;
  /** What the problem must say: document, and field path or text. */
  readonly document?: string;
  readonly says: RegExp;
}

const BAD: readonly BadManifest[] = [
  { file: 'binary.yaml', content: randomBytes(4096), says: /UTF-8|binary|control|text/i },
  {
    file: 'huge.yaml',
    content: `${good('huge')}# ${'x'.repeat(10 * 1024 * 1024)}`,
    says: /larger|too (big|large|long)|bytes/i,
  },
  { file: 'bomb.yaml', content: aliasBomb(), says: /alias/i },
  { file: 'deep.json', content: `${'['.repeat(100_000)}${']'.repeat(100_000)}`, says: /deep|nest|level/i },
  { file: 'syntax.yaml', content: 'apiVersion: v1\nkind: [Pod\n', says: /line \d/i },
  { file: 'syntax.json', content: '{"apiVersion": "v1", "kind": "Pod", }', says: /line \d|JSON/i },
  {
    file: 'types.yaml',
    content: good('types').replace('hostNetwork: true', 'hostNetwork: maybe'),
    document: '1',
    says: /spec\.hostNetwork/,
  },
  {
    file: 'unknown.yaml',
    content: `${good('fine')}---${good('unknown').replace('hostNetwork', 'hostNetwrok')}`,
    document: '2',
    says: /spec\.hostNetwrok/,
  },
  {
    file: 'empty-name.yaml',
    content: good('x').replace('name: x', 'name: "Not A Name"'),
    document: '1',
    says: /metadata\.name/,
  },
  {
    file: 'nameless.yaml',
    content: good('nameless').replace('name: c, ', ''),
    document: '1',
    says: /spec\.containers\[0\]\.name/,
  },
  {
    file: 'kind.yaml',
    content: 'apiVersion: v1\nkind: Deployment\nmetadata: {name: d}\n',
    document: '1',
    says: /Deployment/,
  },
];

interface Problem {
  readonly origin: { readonly location: string; readonly document: string };
  readonly errors: readonly FieldError[];
}

async function problemsOf(agent: TestAgent, file: string): Promise<readonly Problem[]> {
  const { rejected } = (await agent.get('/manifests/problems')) as { rejected: readonly Problem[] };
  return rejected.filter(({ origin }) => origin.location === join(agent.manifests, file));
}

const createAgent = async (): Promise<TestAgent> =>
  TestAgent.create({ endpoint: inject('criEndpoint'), folder: await createTempDir('na-fault-') });

const textOf = ({ origin, errors }: Problem): string =>
  `${origin.document} ${errors.map(formatFieldError).join('; ')}`;

/** Returns the problems of the manifest that the API and the events should report and do not. */
async function missingIn(
  agent: TestAgent,
  { file, document, says }: BadManifest,
): Promise<readonly string[]> {
  const [problem] = await eventually(async () => {
    const found = await problemsOf(agent, file);
    return found.length > 0 && found;
  });
  const events = await agent.events();
  const reported = events.filter(({ message = '' }) => message.includes(join(agent.manifests, file)));
  const text = reported[0]?.message ?? '';
  const checks: readonly (readonly [what: string, holds: boolean])[] = [
    [`problem says ${says}`, problem !== undefined && says.test(textOf(problem))],
    [`problem is of document ${document}`, document === undefined || problem?.origin.document === document],
    ['one event', reported.length === 1 && reported[0]?.reason === 'ManifestRejected'],
    [`event says ${says}`, says.test(text)],
    [`event names document ${document}`, document === undefined || text.includes(`document ${document}`)],
  ];
  return checks.filter(([, holds]) => !holds).map(([what]) => `${file}: ${what}: ${text}`);
}

test('each bad manifest is reported with its position and error, and the good ones run', async () => {
  await using agent = await createAgent();
  await agent.put('a-good.yaml', good('first'));
  for (const { file, content } of BAD) await agent.put(file, content);
  await mkdir(join(agent.manifests, 'folder.yaml'));
  await symlink('loop.yaml', join(agent.manifests, 'loop.yaml'));
  // Opening a pipe without a writer would block.
  await promisify(execFile)('mkfifo', [join(agent.manifests, 'pipe.yaml')]);
  await agent.put('z-good.yaml', good('last'));

  await Promise.all(['first', 'fine', 'last'].map((name) => agent.waitFor(name, isReady)));
  for (const bad of BAD) expect(await missingIn(agent, bad)).toEqual([]);
  // Node's recursive removal fails on a folder beside a link to itself.
  await rm(join(agent.manifests, 'loop.yaml'));
  await rmdir(join(agent.manifests, 'folder.yaml'));
  expect((await agent.pods()).map(({ metadata }) => metadata?.name)).toEqual([
    'fine-n1',
    'first-n1',
    'last-n1',
  ]);
});

test('a running pod outlives the faults of its file and changes when that is repaired', async () => {
  await using agent = await createAgent();
  await agent.put('web.yaml', good('web'));
  const before = await agent.waitFor('web', isReady);
  const broken = [
    '{{{',
    good('web').replace('image: local/busybox:1', 'imige: x'),
    randomBytes(512),
    'kind: &a [*a]',
  ];
  for (const content of broken) {
    await writeFile(join(agent.manifests, 'web.yaml'), content);
    await eventually(async () => (await problemsOf(agent, 'web.yaml')).length > 0);
    expect(await agent.pod('web')).toMatchObject({
      metadata: { uid: before.metadata?.uid },
      status: { containerStatuses: before.status?.containerStatuses },
    });
    // The same content again clears the problem and changes nothing else.
    await agent.put('web.yaml', good('web'));
    await eventually(async () => (await problemsOf(agent, 'web.yaml')).length === 0);
  }
  const running = await agent.pod('web');
  expect(running?.status?.containerStatuses).toEqual(before.status?.containerStatuses);

  await writeFile(join(agent.manifests, 'web.yaml'), '{{{');
  await eventually(async () => (await problemsOf(agent, 'web.yaml')).length > 0);
  await agent.put('web.yaml', good('web', 'two'));
  const repaired = await agent.waitFor('web', (pod) => isReady(pod) && uidOf(pod) !== uidOf(before));
  expect(repaired.spec?.containers[0]?.env).toEqual([{ name: 'TEXT', value: 'two' }]);
});

const uidOf = ({ metadata }: Pod): string | undefined => metadata?.uid;

test('a file that is written slowly becomes a pod when it is whole', async () => {
  await using agent = await createAgent();
  const text = good('slow');
  const path = join(agent.manifests, 'slow.yaml');
  for (let length = 10; length < text.length; length += 40) {
    await writeFile(path, text.slice(0, length));
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  await writeFile(path, text);
  const pod = await agent.waitFor('slow', isReady);
  expect(pod.spec?.containers[0]?.env).toEqual([{ name: 'TEXT', value: 'one' }]);
  await eventually(async () => (await problemsOf(agent, 'slow.yaml')).length === 0);
});
