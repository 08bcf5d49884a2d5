/** Flex drivers: programs in the plugin directory, `<vendor>~<driver>/<driver>`. They are found by events, also those
 *  that come, go and change while the agent runs; what a driver said of itself counts as long as its program is the
 *  same. */
import { constants } from 'node:fs';
import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunProgram } from '../programs/contract.ts';
import { MissingProgramError } from '../programs/errors.ts';
import { errorCode, VolumeSetupError } from '../setup-error.ts';
import {
  driverOfFolder,
  driverPlace,
  type FlexAnswer,
  type FlexCall,
  type FlexCapabilities,
  FlexNotSupportedError,
  parseAnswer,
} from './protocol.ts';
import { createFlexWatcher } from './watcher.ts';

export interface FlexDriversDeps {
  readonly run: RunProgram;
  /** The plugin directory. */
  readonly dir: string;
  /** Name of the node, which drivers are told. */
  readonly nodeName: string;
}

export interface FlexCallOptions {
  readonly signal: AbortSignal;
  /** What no message may repeat. */
  readonly secrets?: readonly string[];
  /** 2 min where it is not given; then the driver is killed. */
  readonly timeoutMs?: number;
}

export interface FlexDriver {
  readonly name: string;
  readonly capabilities: FlexCapabilities;
  /** One call with its arguments.
   *  @throws FlexNotSupportedError, VolumeSetupError */
  call(call: FlexCall, args: readonly string[], options: FlexCallOptions): Promise<FlexAnswer>;
}

export interface FlexDrivers {
  readonly nodeName: string;
  /** The driver that a volume names.
   *  @throws VolumeSetupError where there is none, or it can't be used */
  find(name: string, signal: AbortSignal): Promise<FlexDriver>;
  /** Calls the listener when a driver came, went or changed, once one was asked for. Returns the function that ends
   *  this. */
  onChange(listener: () => void): () => void;
}

const CALL_MS = 120_000;
const INIT_MS = 30_000;
/** Of one argument of a program. Source: Linux, MAX_ARG_STRLEN. */
const LARGEST_ARGUMENT_BYTES = 131_071;

interface Known {
  readonly identity: string;
  readonly driver: FlexDriver;
}

/** @throws VolumeSetupError */
async function whyNot(name: string, path: string): Promise<never> {
  const exists = await access(path, constants.F_OK).then(
    () => true,
    () => false,
  );
  const why = exists ? 'is not a program that can be run' : 'does not exist';
  throw new VolumeSetupError(`flex driver ${name} is not installed on this node: ${path} ${why}`);
}

function createDriver(
  run: RunProgram,
  name: string,
  path: string,
): Omit<FlexDriver, 'capabilities'> & { readonly name: string } {
  const unsupported = new Set<FlexCall>();
  return {
    name,
    async call(call, args, { signal, secrets = [], timeoutMs = CALL_MS }) {
      if (unsupported.has(call)) throw new FlexNotSupportedError(name, call);
      if (args.some((arg) => Buffer.byteLength(arg) > LARGEST_ARGUMENT_BYTES))
        throw new VolumeSetupError(`flex driver ${name}: options and secrets are longer than 128 KiB`);
      try {
        const { code, stdout } = await run(path, [call, ...args], { signal, timeoutMs });
        return parseAnswer({ driver: name, call, code, stdout, secrets });
      } catch (thrown) {
        if (thrown instanceof FlexNotSupportedError) unsupported.add(call);
        if (!(thrown instanceof MissingProgramError)) throw thrown;
        // The file was there: it is the interpreter in its first line that is not.
        throw new VolumeSetupError(`flex driver ${name}: ${path} can't be started: no such interpreter`, {
          cause: thrown,
        });
      }
    },
  };
}

export function createFlexDrivers({ run, dir, nodeName }: FlexDriversDeps): FlexDrivers {
  const known = new Map<string, Known>();
  const watcher = createFlexWatcher(dir);
  return {
    nodeName,
    onChange: (listener) => watcher.onChange(listener),
    async find(name, signal) {
      const { folder, program } = driverPlace(name);
      const path = join(dir, folder, program);
      const identity = (await watcher.identityOf(name)) ?? (await whyNot(name, path));
      const before = known.get(name);
      if (before?.identity === identity) return before.driver;
      const bare = createDriver(run, name, path);
      const { capabilities } = await bare.call('init', [], { signal, timeoutMs: INIT_MS });
      const driver = { ...bare, capabilities };
      known.set(name, { identity, driver });
      return driver;
    },
  };
}

/** Names of the drivers in the plugin directory, in order; those that can't be run are told apart. */
export async function listFlexDrivers(
  dir: string,
): Promise<readonly { readonly name: string; readonly runnable: boolean }[]> {
  const folders = await foldersIn(dir);
  const found = await Promise.all(
    folders.map(async (folder) => {
      const name = driverOfFolder(folder);
      if (name === undefined) return undefined;
      const path = join(dir, folder, driverPlace(name).program);
      const runnable = await access(path, constants.X_OK).then(
        () => true,
        () => false,
      );
      return { name, runnable };
    }),
  );
  return found.filter((driver) => driver !== undefined).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

async function foldersIn(dir: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(dir, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return [];
    throw thrown;
  }
}
