/** Agents as they are shipped, each with an API server and a runtime of its own: a simulated one, or containerd. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatPlatconfig } from '#agent/certs/platconfig.ts';
import { startFakeCri } from '#cri/fake/fake-cri.ts';
import { startTestPlane } from '#plane/main.fixture.ts';
import { BUNDLE_ENTRIES, bundle } from '../../scripts/bundle.ts';
import { TestAgent } from '../../testing/agent.ts';
import { startTestContainerd } from '../../testing/containerd.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { readUnit, unitEnvironment, unitNodeFlags } from '../setup.ts';

const PODS = '/api/v1/namespaces/default/pods';
/** containerd starts and stops about ten pods a second when it has the machine to itself. */
const LONGEST_MS = 600_000;

export type Runtime = 'simulated' | 'containerd';

export interface BenchNode extends AsyncDisposable {
  readonly pid: number;
  /** Resolves when all of them run. */
  create(prefix: string, count: number): Promise<void>;
  /** Resolves when no pod is left. */
  clear(): Promise<void>;
}

export interface RetentionBench {
  readonly open: (runtime: Runtime) => Promise<BenchNode>;
  readonly say: (line: string) => void;
}

interface StartedRuntime {
  readonly endpoint: string;
  /** The pod's fields that suit the runtime. */
  readonly spec: object;
  readonly container: object;
}

const RUNTIMES: Readonly<
  Record<Runtime, (undo: AsyncDisposableStack, folder: string) => Promise<StartedRuntime>>
> = {
  async simulated(undo, folder) {
    const fake = undo.use(await startFakeCri({ socketPath: join(folder, 'f.sock') }));
    const image = 'local/app:1';
    fake.images.add({ reference: image });
    return { endpoint: fake.endpoint, spec: { terminationGracePeriodSeconds: 1 }, container: { image } };
  },
  async containerd(undo) {
    const { endpoint } = undo.use(await startTestContainerd());
    return {
      endpoint,
      // Neither network plugins nor processes that ignore SIGTERM are measured.
      spec: { hostNetwork: true, terminationGracePeriodSeconds: 0 },
      container: { image: 'local/busybox:1', command: ['sleep', '1000000'] },
    };
  },
};

const podOf = (name: string, { spec, container }: StartedRuntime): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    nodeName: 'n1',
    ...spec,
    containers: [
      {
        name: 'main',
        imagePullPolicy: 'Never',
        volumeMounts: [{ name: 'scratch', mountPath: '/s' }],
        ...container,
      },
    ],
    volumes: [{ name: 'scratch', emptyDir: {} }],
  },
});

interface Listed {
  readonly items: readonly { readonly status?: { readonly phase?: string } }[];
}

async function openNode(program: string, unit: string, kind: Runtime): Promise<BenchNode> {
  await using undo = new AsyncDisposableStack();
  const folder = undo.use(await createTempDir('na-bench-r-'));
  const tokens = join(folder.path, 'tokens');
  await writeFile(tokens, 't,system:node:n1,,"system:nodes"\n');
  const plane = undo.use(await startTestPlane([`--token-auth-file=${tokens}`]));
  const runtime = await RUNTIMES[kind](undo, folder.path);
  const platconfig = join(folder.path, 'platconfig');
  const tls = { authority: plane.credentials().ca, insecure: false };
  await writeFile(platconfig, formatPlatconfig({ server: plane.url, tls }, { token: 't' }));
  const agent = undo.use(
    await TestAgent.create({
      endpoint: runtime.endpoint,
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
      await Promise.all(names.map((name) => plane.post(PODS, podOf(name, runtime))));
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
  return { say, open: (runtime) => openNode(folder.path, unit, runtime) };
}
