/** Agents as they are shipped, each with an API server and a played runtime of its own. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatPlatconfig } from '#agent/certs/platconfig.ts';
import { startFakeCri } from '#cri/fake/fake-cri.ts';
import { startTestPlane } from '#plane/main.fixture.ts';
import { BUNDLE_ENTRIES, bundle } from '../../scripts/bundle.ts';
import { TestAgent } from '../../testing/agent.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { readUnit, unitEnvironment, unitNodeFlags } from '../setup.ts';

const IMAGE = 'local/app:1';
const PODS = '/api/v1/namespaces/default/pods';
const LONGEST_MS = 120_000;

export interface PlayedNode extends AsyncDisposable {
  readonly pid: number;
  /** Resolves when all of them run. */
  create(prefix: string, count: number): Promise<void>;
  /** Resolves when no pod is left. */
  clear(): Promise<void>;
}

export interface RetentionBench {
  readonly open: () => Promise<PlayedNode>;
  readonly say: (line: string) => void;
}

const podOf = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    nodeName: 'n1',
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: 'main',
        image: IMAGE,
        imagePullPolicy: 'Never',
        volumeMounts: [{ name: 'scratch', mountPath: '/s' }],
      },
    ],
    volumes: [{ name: 'scratch', emptyDir: {} }],
  },
});

interface Listed {
  readonly items: readonly { readonly status?: { readonly phase?: string } }[];
}

async function openNode(program: string, unit: string): Promise<PlayedNode> {
  await using undo = new AsyncDisposableStack();
  const folder = undo.use(await createTempDir('na-bench-r-'));
  const tokens = join(folder.path, 'tokens');
  await writeFile(tokens, 't,system:node:n1,,"system:nodes"\n');
  const plane = undo.use(await startTestPlane([`--token-auth-file=${tokens}`]));
  const fake = undo.use(await startFakeCri({ socketPath: join(folder.path, 'f.sock') }));
  fake.images.add({ reference: IMAGE });
  const platconfig = join(folder.path, 'platconfig');
  const tls = { authority: plane.credentials().ca, insecure: false };
  await writeFile(platconfig, formatPlatconfig({ server: plane.url, tls }, { token: 't' }));
  const agent = undo.use(
    await TestAgent.create({
      endpoint: fake.endpoint,
      folder: undo.use(await createTempDir('na-bench-ra-')),
      program: [...unitNodeFlags(unit), join(program, 'nodeagent.js'), 'run'],
      env: unitEnvironment(unit),
      flags: [
        `--platconfig=${platconfig}`,
        `--cert-dir=${folder.path}/pki`,
        '--plat-api-qps=500',
        '--plat-api-burst=1000',
      ],
    }),
  );
  await eventually(async () => (await plane.get('/api/v1/nodes/n1')).status === 200, { timeoutMs: 30_000 });
  const rest = undo.move();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the server says
  const listed = async (): Promise<Listed> => JSON.parse((await plane.get(PODS)).text) as Listed;
  async function clear(): Promise<void> {
    await plane.call('DELETE', PODS, { body: {} });
    await eventually(async () => (await listed()).items.length === 0, {
      timeoutMs: LONGEST_MS,
      intervalMs: 200,
      what: 'the pods are gone',
    });
  }

  return {
    pid: agent.pid,
    async create(prefix, count) {
      const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
      await Promise.all(names.map((name) => plane.post(PODS, podOf(name))));
      await eventually(
        async () =>
          (await listed()).items.filter(({ status }) => status?.phase === 'Running').length >= count,
        { timeoutMs: LONGEST_MS, intervalMs: 200, what: 'the pods run' },
      );
    },
    clear,
    async [Symbol.asyncDispose]() {
      // An agent ends when its pods have ended.
      await clear().catch(() => undefined);
      await rest.disposeAsync();
    },
  };
}

/** Everything that the rows need; disposing of the stack removes it. */
export async function setUpRetention(
  stack: AsyncDisposableStack,
  say: (line: string) => void,
): Promise<RetentionBench> {
  const folder = stack.use(await createTempDir('na-bench-rp-'));
  say('bundling the agent');
  await bundle(folder.path, BUNDLE_ENTRIES);
  const unit = await readUnit();
  return { say, open: () => openNode(folder.path, unit) };
}
