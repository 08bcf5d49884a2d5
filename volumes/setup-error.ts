import { VolumeError } from './types.ts';

/** Why one volume, or one path in it, can't be made ready, in words for the pod's author. */
export class VolumeSetupError extends Error {
  readonly reason = 'FailedMount';

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'VolumeSetupError';
  }
}

/** The `code` of a system error (`ENOENT`), or undefined for any other thrown value. */
export function errorCode(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}

/** Runs `attempt` and swallows system errors with one of `codes`; true when it succeeded. */
export async function unlessCode(
  codes: readonly string[],
  attempt: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await attempt();
    return true;
  } catch (thrown) {
    const code = errorCode(thrown);
    if (code !== undefined && codes.includes(code)) return false;
    throw thrown;
  }
}

export interface VolumeFailure {
  readonly name: string;
  readonly error: Error;
}

/** One error for all volumes that failed: `volume "cfg": ConfigMap default/app not found; volume "x": …`. */
export function combineFailures(failures: readonly VolumeFailure[]): VolumeError {
  const message = failures.map(({ name, error }) => `volume "${name}": ${error.message}`).join('; ');
  const errors = failures.map(({ error }) => error);
  const cause = errors.length === 1 ? errors[0] : new AggregateError(errors, 'several volumes failed');
  return new VolumeError(message, { volumes: failures.map(({ name }) => name), cause });
}
