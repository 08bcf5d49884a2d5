/** A volume that could not be set up. `reason` is the event reason, `FailedMount` by default. */
export class VolumeError extends Error {
  readonly reason: string;
  readonly volumes: readonly string[];
  /** Remaining backoff in ms; 0 if a retry is possible at once. Not part of the message, so that the same
   *  failure has the same text each time. */
  readonly backoffMs: number;
  /** The error of each volume that could not be set up; empty for a failed teardown. */
  readonly failures: readonly VolumeFailure[];

  constructor(
    message: string,
    options: {
      reason?: string;
      volumes: readonly string[];
      backoffMs?: number;
      failures?: readonly VolumeFailure[];
      cause?: unknown;
    },
  ) {
    super(message, { cause: options.cause });
    this.name = 'VolumeError';
    this.reason = options.reason ?? 'FailedMount';
    this.volumes = options.volumes;
    this.backoffMs = options.backoffMs ?? 0;
    this.failures = options.failures ?? [];
  }
}

export interface VolumeFailure {
  readonly name: string;
  readonly error: Error;
}
