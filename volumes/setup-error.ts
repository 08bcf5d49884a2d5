import { VolumeError } from './types.ts';

/** Why one volume, or one path in it, can't be made ready, in words for the pod's author. */
export class VolumeSetupError extends Error {
  /** Of the event: `FailedMount`, or `FailedAttachVolume`. */
  readonly reason: string;

  constructor(message: string, options: { cause?: unknown; reason?: 'FailedAttachVolume' } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : {});
    this.name = 'VolumeSetupError';
    this.reason = options.reason ?? 'FailedMount';
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

const reasonOf = (error: Error): string => (error instanceof VolumeSetupError ? error.reason : 'FailedMount');

/** One error for all volumes that failed: `volume "cfg": ConfigMap default/app not found; volume "x": …`.
 *  @param heldBackMs how long none of them is tried again */
export function combineFailures(failures: readonly VolumeFailure[], heldBackMs = 0): VolumeError {
  const message = failures.map(({ name, error }) => `volume "${name}": ${error.message}`).join('; ');
  const errors = failures.map(({ error }) => error);
  const cause = errors.length === 1 ? errors[0] : new AggregateError(errors, 'several volumes failed');
  const [reason = '', ...others] = new Set(errors.map(reasonOf));
  const volumes = failures.map(({ name }) => name);
  return new VolumeError(message, { ...(others.length === 0 ? { reason } : {}), volumes, heldBackMs, cause });
}
