/** Requests for tests of sources that mount with helper programs: a temporary directory, a mount table in
 *  memory, and programs that only record their arguments. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Endpoints, Secret } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ReadyVolume, SourceFields, SourcePlugin, SourceRequest } from '../contract/source.ts';
import type { StageFolder, StagePlan, UndoState } from '../contract/staging.ts';
import type { MountInfo } from '../mount/mountinfo.ts';
import type { ProgramResult, RunProgram } from '../programs/contract.ts';

/** Arguments and environment of a program. */
export interface ProgramCall {
  readonly program: string;
  readonly args: readonly string[];
}

/** Fake of a program. Undefined means success: a mount at the first argument that is a directory of the
 *  test, or its removal after `umount`. */
export type Behaviour = (
  call: ProgramCall,
) => Partial<ProgramResult> | undefined | Promise<Partial<ProgramResult> | undefined>;

export interface TestRequest extends AsyncDisposable {
  readonly base: string;
  readonly calls: readonly ProgramCall[];
  readonly unmounted: readonly string[];
  readonly remembered: readonly UndoState[];
  /** Unique names. */
  readonly staged: readonly string[];
  /** Mounts at these paths; tests may add some. */
  readonly mounts: MountInfo[];
  readonly secrets: Map<string, Secret>;
  readonly endpoints: Map<string, Endpoints>;
  readonly request: SourceRequest;
  /** Sets up the volume. */
  setUp(plugin: SourcePlugin, fields: SourceFields, more?: Partial<SourceRequest>): Promise<ReadyVolume>;
}

export function mountInfo(mountPoint: string, fsType = 'nfs'): MountInfo {
  return {
    id: 1,
    parentId: 0,
    device: '0:1',
    root: '/',
    mountPoint,
    options: [],
    propagation: [],
    fsType,
    source: 'test',
    superOptions: [],
  };
}

const unserved = (): Promise<never> => Promise.reject(new Error('not part of this test'));

function fakeMounter(mounts: MountInfo[], unmounted: string[]): SourceRequest['services']['mounter'] {
  return {
    list: async () => [...mounts],
    syscalls: {
      mount: unserved,
      openat2: unserved,
      unmount: async (target) => {
        unmounted.push(target);
        const index = mounts.findLastIndex(({ mountPoint }) => mountPoint === target);
        if (index >= 0) mounts.splice(index, 1);
      },
    },
    umask: async () => 0o022,
    bind: async (_source, target) => void mounts.push(mountInfo(target, 'bind')),
    detach: unserved,
    ensureTmpfs: unserved,
    ensureHugetlbfs: unserved,
  };
}

interface FakeMachine {
  readonly base: string;
  readonly calls: ProgramCall[];
  readonly mounts: MountInfo[];
  readonly mounter: SourceRequest['services']['mounter'];
}

function fakeRun({ base, calls, mounts, mounter }: FakeMachine, behave: Behaviour): RunProgram {
  return async (program, args, { signal }) => {
    signal.throwIfAborted();
    calls.push({ program, args });
    const result = await behave({ program, args });
    if (result === undefined) {
      const target = args.find((arg) => arg.startsWith(base)) ?? '';
      if (program === 'umount') await mounter.syscalls.unmount(target, 0);
      else mounts.push(mountInfo(target));
    }
    return { code: 0, stdout: '', stderr: '', ...result };
  };
}

export async function createTestRequest(behave: Behaviour = () => undefined): Promise<TestRequest> {
  const base = await realpath(await mkdtemp('/tmp/na-net-'));
  const calls: ProgramCall[] = [];
  const unmounted: string[] = [];
  const remembered: UndoState[] = [];
  const staged: string[] = [];
  const mounts: MountInfo[] = [];
  const secrets = new Map<string, Secret>();
  const endpoints = new Map<string, Endpoints>();

  const mounter = fakeMounter(mounts, unmounted);
  const run = fakeRun({ base, calls, mounts, mounter }, behave);
  const undoable = {
    remember: async (state: UndoState) => void remembered.push(state),
    stage: async ({ uniqueName, stage }: StagePlan) => {
      staged.push(uniqueName);
      const folder: StageFolder = {
        path: join(base, 'stage'),
        globalMount: join(base, 'stage', 'globalmount'),
        save: async () => undefined,
        saved: {},
      };
      await stage(folder, request.signal);
      return folder;
    },
  };
  const request: SourceRequest = {
    services: {
      mounter,
      run,
      clock: createFakeClock(),
      devices: { dev: join(base, 'dev'), sys: join(base, 'sys') },
      domain: VOCABULARIES.plat.domain,
      allocatable: () => ({}),
      objects: {
        getConfigMap: async () => undefined,
        getSecret: async (namespace, name) => secrets.get(`${namespace}/${name}`),
        getPersistentVolumeClaim: async () => undefined,
        getPersistentVolume: async () => undefined,
        getEndpoints: async (namespace, name) => endpoints.get(`${namespace}/${name}`),
      },
    },
    pod: { metadata: { name: 'web', namespace: 'default', uid: 'pod-1' } },
    namespace: 'default',
    volumeName: 'data',
    dir: (dirName) => join(base, dirName, 'data'),
    use: async () => undefined,
    attached: async () => undefined,
    fsGroup: undefined,
    fsGroupOnRootMismatch: false,
    readOnly: false,
    block: false,
    mountOptions: [],
    undoable: () => undoable,
    ...undoable,
    signal: new AbortController().signal,
  };

  return {
    base,
    calls,
    unmounted,
    remembered,
    staged,
    mounts,
    secrets,
    endpoints,
    request,
    async setUp(plugin, fields, more = {}) {
      const work = plugin.bind(fields);
      if (work === undefined) throw new Error(`${plugin.name} is not what is set`);
      return work({ ...request, ...more });
    },
    [Symbol.asyncDispose]: () => rm(base, { recursive: true, force: true }),
  };
}

/** Returns the options after `-o`. */
export function optionsOf({ args }: ProgramCall): readonly string[] {
  const at = args.indexOf('-o');
  return at < 0 ? [] : (args[at + 1] ?? '').split(',');
}

/** Returns the call with the test's directory replaced by `DIR`. */
export function commandOf({ program, args }: ProgramCall, base: string): string {
  return [program, ...args].map((word) => (word.startsWith(base) ? `DIR/${basename(word)}` : word)).join(' ');
}

/** Returns a Secret with text values. */
export function testSecret(namespace: string, name: string, data: Readonly<Record<string, string>>): Secret {
  return {
    metadata: { namespace, name },
    data: Object.fromEntries(
      Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
    ),
  };
}
