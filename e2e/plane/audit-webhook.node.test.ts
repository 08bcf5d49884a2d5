/** Audit events of a whole server at a receiver in another process, over mutual TLS. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createTestAuthority } from '#plane/http/certificates.fixture.ts';
import { API_ALONE, startTestPlane, type TestPlane } from '#plane/main.fixture.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';

const DOMAIN = VOCABULARIES.kubernetes.apiGroupDomain;
const PATH = '/api/v1/namespaces/default/configmaps';

interface Event {
  readonly kind: string;
  readonly stage: string;
  readonly auditID: string;
  readonly requestObject?: { readonly metadata: { readonly name: string } };
  readonly annotations?: Readonly<Record<string, string>>;
}

interface List {
  readonly kind: string;
  readonly apiVersion: string;
  readonly items: readonly Event[];
}

interface Receiver extends AsyncDisposable {
  readonly clientConfig: string;
  readonly policy: string;
  lists(): Promise<readonly List[]>;
  /** Responds with this status from now on. */
  respondWith(status: number): Promise<void>;
  /** Responds with this status to so many requests. */
  fail(status: number, times: number): Promise<void>;
}

async function startReceiver(): Promise<Receiver> {
  const temp = await createTempDir('na-audit-');
  const at = (name: string): string => join(temp.path, name);
  const authority = createTestAuthority('audit-ca');
  const server = authority.issue('localhost');
  const client = authority.issue('apiserver');
  await Promise.all([
    writeFile(at('ca.pem'), authority.cert),
    writeFile(at('server.pem'), server.cert),
    writeFile(at('server.key'), server.key),
    writeFile(at('client.pem'), client.cert),
    writeFile(at('client.key'), client.key),
    writeFile(
      at('policy.yaml'),
      `apiVersion: audit.${DOMAIN}/v1\nkind: Policy\nrules:\n- level: RequestResponse\n  resources: [{group: "", resources: [configmaps]}]\n  verbs: [create]\n`,
    ),
  ]);
  const program = join(import.meta.dirname, 'audit-receiver.fixture.ts');
  const child = spawn(process.execPath, [program, temp.path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<Buffer>((resolve) => child.stdout.once('data', resolve));
  await writeFile(
    at('client.yaml'),
    `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:${String(port).trim()}/events', certificate-authority: ca.pem}}]
users: [{name: u, user: {client-certificate: client.pem, client-key: client.key}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`,
  );
  return {
    clientConfig: at('client.yaml'),
    policy: at('policy.yaml'),
    async lists() {
      const text = await readFile(at('received'), 'utf8').catch(() => '');
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as List);
    },
    async respondWith(status) {
      if (status === 200) await rm(at('statuses'), { force: true });
      else await writeFile(at('statuses'), `${status} *`);
    },
    fail: (status, times) => writeFile(at('statuses'), `${status}\n`.repeat(times)),
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
      await temp[Symbol.asyncDispose]();
    },
  };
}

const start = ({ clientConfig, policy }: Receiver, ...flags: readonly string[]): Promise<TestPlane> =>
  startTestPlane([
    ...API_ALONE,
    '--vocabulary=kubernetes',
    `--audit-webhook-config-file=${clientConfig}`,
    `--audit-policy-file=${policy}`,
    '--audit-webhook-initial-backoff=20ms',
    ...flags,
  ]);

const create = (plane: TestPlane, name: string, value = 'v') =>
  plane.post(PATH, { metadata: { name }, data: { key: value } });

const stagesOf = async (receiver: Receiver): Promise<readonly string[]> =>
  (await receiver.lists()).flatMap(({ items }) =>
    items.map(({ stage, requestObject }) => `${stage} ${requestObject?.metadata.name ?? ''}`.trim()),
  );

test('events arrive in batches, and truncated where they are too large', async () => {
  await using receiver = await startReceiver();
  await using plane = await start(
    receiver,
    '--audit-webhook-batch-max-wait=100ms',
    '--audit-webhook-truncate-enabled',
    '--audit-webhook-truncate-max-event-size=3000',
  );
  expect((await create(plane, 'a')).status).toBe(201);
  expect((await create(plane, 'big', 'x'.repeat(4000))).status).toBe(201);
  expect(await eventually(async () => (await stagesOf(receiver)).length === 4)).toBe(true);
  const lists = await receiver.lists();
  expect(
    lists.every(({ kind, apiVersion }) => `${kind} ${apiVersion}` === `EventList audit.${DOMAIN}/v1`),
  ).toBe(true);
  expect(await stagesOf(receiver)).toContain('ResponseComplete a');
  const truncated = lists
    .flatMap(({ items }) => items)
    .filter(({ annotations }) => annotations?.[`audit.${DOMAIN}/truncated`] === 'true');
  expect(truncated.map(({ requestObject }) => requestObject)).toEqual([undefined]);
}, 60_000);

test('a service that fails for a while loses nothing', async () => {
  await using receiver = await startReceiver();
  await using plane = await start(receiver, '--audit-webhook-batch-max-wait=10ms');
  await receiver.fail(500, 3);
  expect((await create(plane, 'a')).status).toBe(201);
  expect(await eventually(async () => (await stagesOf(receiver)).length === 2)).toBe(true);
}, 60_000);

test.each([
  ['batch', 201],
  ['blocking', 201],
  ['blocking-strict', 500],
] as const)(
  'a service that fails, in mode %s',
  async (mode, status) => {
    await using receiver = await startReceiver();
    await using plane = await start(
      receiver,
      `--audit-webhook-mode=${mode}`,
      '--audit-webhook-batch-max-wait=10ms',
    );
    await receiver.respondWith(503);
    const response = await create(plane, 'a');
    expect(response.status).toBe(status);
    expect(response.text.includes('failed to store audit event')).toBe(status === 500);
    const metrics = async (): Promise<string> => (await plane.get('/metrics')).text;
    expect(
      await eventually(async () =>
        (await metrics()).includes('apiserver_audit_error_total{plugin="webhook"} 2'),
      ),
    ).toBe(true);
    expect((await metrics()).includes('apiserver_audit_requests_rejected_total 1')).toBe(status === 500);
    if (mode === 'batch') return;
    await receiver.respondWith(200);
    expect((await create(plane, 'b')).status).toBe(201);
    expect(await stagesOf(receiver)).toContain('RequestReceived');
  },
  60_000,
);
