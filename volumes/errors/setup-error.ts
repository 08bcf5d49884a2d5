import { VolumeError } from './volume-error.ts';

/** Reason why one volume, or one path in it, cannot be set up, for the pod's author. */
export class VolumeSetupError extends Error {
  /** Event reason: `FailedMount` or `FailedAttachVolume`. */
  readonly reason: string;

  constructor(message: string, options: { cause?: unknown; reason?: 'FailedAttachVolume' } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : {});
    this.name = 'VolumeSetupError';
    this.reason = options.reason ?? 'FailedMount';
  }
}

export interface VolumeFailure {
  readonly name: string;
  readonly error: Error;
}

const reasonOf = (error: Error): string => (error instanceof VolumeSetupError ? error.reason : 'FailedMount');

/** Combines the errors of failed volumes: `volume "cfg": ConfigMap default/app not found; volume "x": …`.
 *  @param backoffMs backoff until the first of them is retried */
export function combineFailures(failures: readonly VolumeFailure[], backoffMs = 0): VolumeError {
  const message = failures.map(({ name, error }) => `volume "${name}": ${error.message}`).join('; ');
  const errors = failures.map(({ error }) => error);
  const cause = errors.length === 1 ? errors[0] : new AggregateError(errors, 'several volumes failed');
  const [reason = '', ...others] = new Set(errors.map(reasonOf));
  const volumes = failures.map(({ name }) => name);
  return new VolumeError(message, { ...(others.length === 0 ? { reason } : {}), volumes, backoffMs, cause });
}
