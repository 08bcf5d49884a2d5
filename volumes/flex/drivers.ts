/** Flex drivers: programs `<vendor>~<driver>/<driver>` in the plugin directory. Directory events report
 *  drivers that are added, removed or changed at run time; the capabilities of a driver are cached until
 *  its program changes. */
import { constants } from 'node:fs';
import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '#api/kit/errno.ts';
import type { FlexDriver, FlexDrivers } from '../contract/flex.ts';
import { type FlexCall } from '../contract/flex.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { RunProgram } from '../programs/contract.ts';
import { MissingProgramError } from '../programs/errors.ts';
import { driverOfFolder, driverPlace, FlexNotSupportedError, parseResponse } from './protocol.ts';
import { createFlexWatcher } from './watcher.ts';

export interface FlexDriversDeps {
  readonly run: RunProgram;
  /** The plugin directory. */
  readonly dir: string;
  /** Node name passed to drivers. */
  readonly nodeName: string;
}

const CALL_MS = 120_000;
const INIT_MS = 30_000;
/** Maximum size of one program argument. Source: Linux, MAX_ARG_STRLEN. */
const MAX_ARGUMENT_BYTES = 131_071;

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
  const why = exists ? 'is not executable' : 'does not exist';
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
      if (args.some((arg) => Buffer.byteLength(arg) > MAX_ARGUMENT_BYTES))
        throw new VolumeSetupError(`flex driver ${name}: options and secrets are longer than 128 KiB`);
      try {
        const { code, stdout } = await run(path, [call, ...args], { signal, timeoutMs });
        return parseResponse({ driver: name, call, code, stdout, secrets });
      } catch (thrown) {
        if (thrown instanceof FlexNotSupportedError) unsupported.add(call);
        if (!(thrown instanceof MissingProgramError)) throw thrown;
        // The program exists; the interpreter in its first line does not.
        throw new VolumeSetupError(`flex driver ${name}: ${path} cannot be started: no such interpreter`, {
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

/** Returns the sorted names of drivers in the plugin directory; those that are not executable are marked. */
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
