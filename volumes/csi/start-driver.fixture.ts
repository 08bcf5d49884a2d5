/** Starts and stops test drivers as processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  callsFile,
  type Misdeed,
  misdeedFile,
  type RecordedCall,
  readNotes,
  registeredFile,
  type TestDriverOptions,
} from './driver-options.fixture.ts';

export interface TestDriver extends AsyncDisposable {
  readonly options: TestDriverOptions;
  /** The calls so far, including those of earlier processes. */
  calls(): Promise<readonly RecordedCall[]>;
  /** Names of the calls, without information and statistics calls. */
  methods(): Promise<readonly string[]>;
  /** Registration results that the agent sent. */
  registrations(): Promise<readonly { readonly pluginRegistered: boolean; readonly error: string }[]>;
  misbehave(misdeed: Misdeed): Promise<void>;
  /** Resolves when the process has exited by itself. */
  readonly ended: Promise<unknown>;
  /** Kills the process; its sockets stay. */
  kill(): Promise<void>;
  /** Starts the driver again after its exit. @param changes of its options */
  restart(changes?: Partial<TestDriverOptions>): Promise<void>;
  /** Removes its registration socket, like an uninstalled driver. */
  unregister(): Promise<void>;
}

const QUIET: ReadonlySet<string> = new Set([
  'GetInfo',
  'NotifyRegistrationStatus',
  'NodeGetInfo',
  'NodeGetCapabilities',
  'NodeGetVolumeStats',
]);

async function spawnDriver(options: TestDriverOptions): Promise<ChildProcess> {
  const program = join(import.meta.dirname, 'driver.fixture.ts');
  const child = spawn(process.execPath, [program, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const early = once(child, 'exit').then(() => {
    throw new Error('the driver ended before it was ready');
  });
  await Promise.race([once(child.stdout, 'data'), early]);
  early.catch(() => undefined);
  return child;
}

/** Resolves once the driver serves. */
export async function startTestDriver(given: TestDriverOptions): Promise<TestDriver> {
  let options = given;
  let child = await spawnDriver(options);
  const { dataDir, registryDir, name } = given;

  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  const calls = (): Promise<readonly RecordedCall[]> => readNotes(callsFile(dataDir));
  return {
    get options() {
      return options;
    },
    calls,
    methods: async () => (await calls()).map(({ method }) => method).filter((method) => !QUIET.has(method)),
    registrations: () => readNotes(registeredFile(dataDir)),
    // Write atomically: the driver reads the file at each call, including those of its registration.
    async misbehave(misdeed) {
      const file = misdeedFile(dataDir);
      await writeFile(`${file}.new`, JSON.stringify(misdeed));
      await rename(`${file}.new`, file);
    },
    get ended() {
      return once(child, 'exit');
    },
    kill,
    async restart(changes = {}) {
      await kill();
      options = { ...options, ...changes };
      child = await spawnDriver(options);
    },
    unregister: () => rm(join(registryDir, `${name}-reg.sock`), { force: true }),
    [Symbol.asyncDispose]: kill,
  };
}
