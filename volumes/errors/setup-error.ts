import { VolumeError, type VolumeFailure } from './volume-error.ts';

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

/** A volume whose setup takes too long, while it continues in the background. */
export class VolumeTimeoutError extends VolumeSetupError {
  constructor(message: string) {
    super(message);
    this.name = 'VolumeTimeoutError';
  }
}

/** Returns the event reason of the failure of one volume. */
export const failureReason = (error: Error): string =>
  error instanceof VolumeSetupError ? error.reason : 'FailedMount';

/** Combines the errors of failed volumes: `volume "cfg": ConfigMap default/app not found; volume "x": …`.
 *  @param backoffMs backoff until the first of them is retried */
export function combineFailures(failures: readonly VolumeFailure[], backoffMs = 0): VolumeError {
  const message = failures.map(({ name, error }) => `volume "${name}": ${error.message}`).join('; ');
  const errors = failures.map(({ error }) => error);
  const cause = errors.length === 1 ? errors[0] : new AggregateError(errors, 'several volumes failed');
  const [reason = '', ...others] = new Set(errors.map(failureReason));
  const volumes = failures.map(({ name }) => name);
  const sole = others.length === 0 ? { reason } : {};
  return new VolumeError(message, { ...sole, volumes, backoffMs, failures, cause });
}
