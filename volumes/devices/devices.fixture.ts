/** Directories that replace `/dev` and `/sys` in tests of device sources, and fake programs. */
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PersistentVolume, Secret } from '#api/gen/core-v1.ts';
import { unlessCode } from '#api/kit/errno.ts';
import type { DeviceServices } from '../contract/devices.ts';
import type { UndoState } from '../contract/staging.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { ProgramOptions, ProgramResult } from '../programs/contract.ts';
import { MissingProgramError } from '../programs/errors.ts';

/** Implementations of programs by name. Absent: not installed. */
export type FakePrograms = Readonly<
  Record<
    string,
    (args: readonly string[], options: ProgramOptions) => Promise<Partial<ProgramResult> | undefined>
  >
>;

export interface TestDevices extends AsyncDisposable {
  readonly base: string;
  readonly services: DeviceServices;
  /** Programs that ran, with their arguments. */
  readonly ran: readonly string[];
  /** Every saved state. */
  readonly saved: readonly UndoState[];
  readonly save: (state: UndoState) => Promise<void>;
  readonly secrets: Map<string, Secret>;
  /** Writes a file beneath the test's directory, such as `sys/block/sda/size`. */
  write(path: string, text: string): Promise<void>;
  path(path: string): string;
}

/** Returns a Secret with these values. */
export const secretOf = (texts: Readonly<Record<string, string>>): Secret => ({
  data: Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  ),
});

async function firstThere(candidates: readonly string[]): Promise<string> {
  for (const path of candidates) {
    let found: string | undefined;
    await unlessCode(['ENOENT'], async () => {
      found = await realpath(path);
    });
    if (found !== undefined) return found;
  }
  throw new VolumeSetupError(`${candidates.join(' or ')} did not appear`);
}

export async function createTestDevices(
  programs: FakePrograms = {},
  persistentVolume?: PersistentVolume,
): Promise<TestDevices> {
  const base = await realpath(await mkdtemp('/tmp/na-dev-'));
  const ran: string[] = [];
  const saved: UndoState[] = [];
  const secrets = new Map<string, Secret>();
  const path = (name: string): string => join(base, name);
  await mkdir(path('dev/disk'), { recursive: true });
  await mkdir(path('sys'), { recursive: true });
  const none = (): Promise<undefined> => Promise.resolve(undefined);
  return {
    base,
    ran,
    saved,
    secrets,
    path,
    save: async (state) => void saved.push(state),
    async write(name, text) {
      await mkdir(dirname(path(name)), { recursive: true });
      await writeFile(path(name), text);
    },
    services: {
      paths: { dev: path('dev'), sys: path('sys') },
      namespace: 'default',
      persistentVolume,
      objects: {
        getConfigMap: none,
        getSecret: async (namespace, name) => secrets.get(`${namespace}/${name}`),
        getPersistentVolumeClaim: none,
        getPersistentVolume: none,
        getEndpoints: none,
      },
      async run(program, args, options) {
        ran.push([program, ...args].join(' '));
        const work = programs[program];
        if (work === undefined) throw new MissingProgramError(program);
        return { code: 0, stdout: '', stderr: '', ...(await work(args, options)) };
      },
      waitForDevice: firstThere,
    },
    [Symbol.asyncDispose]: () => rm(base, { recursive: true, force: true }),
  };
}

/** A signal that never fires. */
export const never: AbortSignal = new AbortController().signal;
