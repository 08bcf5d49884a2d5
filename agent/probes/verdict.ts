/** Combined result of all probes of one container. */
import type { Int64 } from '#api/kit/int64.ts';
export interface ProbeVerdict {
  readonly started: boolean;
  readonly ready: boolean;
  /** Set when a liveness or startup probe has failed for good. */
  readonly failure?: { readonly message: string; readonly gracePeriodSeconds?: Int64 };
}
