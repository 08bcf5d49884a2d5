/** Setup of the agent rows: a private containerd, the bundled agent as shipped, and the baseline. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { removeCgroupTree } from '#agent/runtime/managed/cgroup-tree.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { type CriConnection, connectRuntime } from '#cri/client/connection.ts';
import { BUNDLE_ENTRIES, bundle } from '../scripts/bundle.ts';
import { TestAgent, type TestAgentOptions } from '../testing/agent.ts';
import { startTestContainerd } from '../testing/containerd.ts';
import { createTempDir } from '../testing/temp.ts';
import { eventually } from '../testing/wait.ts';
import { createFloor, type Floor, type PodFloor } from './floor.ts';
import { podManifest } from './pod.ts';
import { type StartedWatch, watchStarted } from './started.ts';

const REPOSITORY = resolve(import.meta.dirname, '..');
/** Default pod limit of a node. */
export const POD_COUNT = 110;

export interface Bench {
  /** Has no pods before and after each row, or the full set. */
  readonly agent: TestAgent;
  readonly cri: CriConnection;
  readonly floor: Floor;
  readonly started: StartedWatch;
  /** Creates manifests, one rename each. Returns the wall time (ms) just before the first. */
  readonly drop: (names: readonly string[]) => Promise<number>;
  /** Deletes the agent's pods and waits until they are gone. */
  readonly clear: () => Promise<void>;
  /** Ensures that the agent runs the full set of pods. */
  readonly fill: () => Promise<void>;
  /** Reports the progress of a row. */
  readonly say: (line: string) => void;
}

/** What rows of starts need, on any runtime. */
export interface StartBench extends Pick<Bench, 'agent' | 'started' | 'drop' | 'clear' | 'fill' | 'say'> {
  readonly floor: PodFloor;
}

/** Names of the full set. */
export const fullSet = (): readonly string[] =>
  Array.from({ length: POD_COUNT }, (_, index) => `full-${index}`);

/** Returns the text of the shipped unit. */
export const readUnit = (): Promise<string> =>
  readFile(join(REPOSITORY, 'agent/install/systemd/nodeagent.service'), 'utf8');

/** Returns the flags between program and script in the shipped unit. */
export function unitNodeFlags(unit: string): readonly string[] {
  const words = /^ExecStart=((?:[^\\\n]|\\\n)*)/m.exec(unit)?.[1]?.split(/[\s\\]+/) ?? [];
  const script = words.findIndex((word) => /\.[jt]s$/.test(word));
  return words.slice(1, script).filter((word) => word.startsWith('--'));
}

/** Returns the shipped unit's environment for Node and its C library, without values that depend on the
 *  installation. */
export function unitEnvironment(unit: string): Readonly<Record<string, string>> {
  const lines = [...unit.matchAll(/^Environment=([A-Z_]+)=(\S+)$/gm)];
  return Object.fromEntries(
    lines.flatMap(([, name = '', value = '']) => (/^(?:MALLOC|UV)_/.test(name) ? [[name, value]] : [])),
  );
}

/** Directory of the bundle. */
export const programIn = (folder: string): string => join(folder, 'program');

/** Returns the bundled agent with the flags and the environment of the unit, not yet started. */
export async function createShippedAgent(
  stack: AsyncDisposableStack,
  folder: string,
  options: Pick<TestAgentOptions, 'endpoint' | 'flags'>,
): Promise<TestAgent> {
  const unit = await readUnit();
  return TestAgent.create({
    ...options,
    program: [...unitNodeFlags(unit), join(programIn(folder), 'nodeagent.js'), 'run'],
    env: { ...unitEnvironment(unit), NODE_COMPILE_CACHE: join(folder, 'cache') },
    folder: stack.use(await createTempDir('na-bench-a-')),
    start: false,
  });
}

/** Starts everything; disposing of the stack stops and removes it. */
export async function setUpBench(stack: AsyncDisposableStack, say: (line: string) => void): Promise<Bench> {
  const folder = stack.use(await createTempDir('na-bench-'));
  say('bundling the agent');
  await bundle(programIn(folder.path), BUNDLE_ENTRIES);
  say('starting containerd');
  let cgroup: string | undefined;
  // After the runtime and the remaining processes of pods are gone.
  stack.defer(async () => {
    if (cgroup !== undefined) await removeCgroupTree(cgroup);
  });
  const containerd = stack.use(await startTestContainerd());
  const cri = connectRuntime({ endpoint: containerd.endpoint, log: silentLogger });
  stack.defer(() => cri.close());
  const outDir = join(folder.path, 'out');
  await mkdir(outDir);
  const started = stack.use(watchStarted(outDir));
  const flags = [`--root-dir=${folder.path}/floor`, `--pod-logs-dir=${folder.path}/floor-logs`];
  const floor = await createFloor({ cri, outDir, flags });
  const agent = await createShippedAgent(stack, folder.path, { endpoint: containerd.endpoint });
  cgroup = agent.cgroup;
  stack.defer(async () => void (await agent.stop()));
  await agent.start();
  return createBench({ agent, cri, floor, started, say }, outDir);
}

type Parts = Pick<Bench, 'agent' | 'started' | 'say'>;

/** Adds what creates and removes pods of the agent. */
export function createBench<P extends Parts>(
  parts: P,
  outDir: string,
): P & Pick<Bench, 'drop' | 'clear' | 'fill'> {
  const { agent } = parts;
  let present: readonly string[] = [];

  async function drop(names: readonly string[]): Promise<number> {
    const temporary = (name: string): string => join(agent.manifests, `.${name}.tmp`);
    await Promise.all(names.map((name) => writeFile(temporary(name), podManifest(name, outDir))));
    present = [...present, ...names];
    const atMs = wallMs();
    await Promise.all(names.map((name) => rename(temporary(name), join(agent.manifests, `${name}.json`))));
    return atMs;
  }

  async function clear(): Promise<void> {
    await Promise.all(present.map((name) => agent.drop(`${name}.json`)));
    present = [];
    await eventually(async () => (await agent.pods()).length === 0, {
      timeoutMs: 120_000,
      intervalMs: 100,
      what: 'the pods of the agent are gone',
    });
  }

  return {
    ...parts,
    drop,
    clear,
    async fill() {
      const missing = fullSet().filter((name) => !present.includes(name));
      if (missing.length < POD_COUNT) {
        if (missing.length === 0) return;
        await clear();
      }
      const sinceMs = await drop(fullSet());
      await Promise.all(fullSet().map((name) => parts.started.at(name, sinceMs, 120_000)));
    },
  };
}

/** Wall time in ms with fractions. */
export const wallMs = (): number => performance.timeOrigin + performance.now();
