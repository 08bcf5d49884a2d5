/** Decides how a starting agent authenticates to the API server. Pure. */

export interface StartFacts {
  /** `broken`: it cannot be read or used; `expired`: its certificate has expired. */
  readonly platconfig: 'missing' | 'broken' | 'expired' | 'good';
  /** Whether a bootstrap configuration exists. */
  readonly hasBootstrap: boolean;
}

export type StartDecision =
  /** Use the platconfig. */
  | 'use'
  /** Use the bootstrap configuration to obtain a certificate and a platconfig. */
  | 'bootstrap'
  /** Fail with the errors of the platconfig. */
  | 'fail'
  | 'fail-expired';

export function decideStart({ platconfig, hasBootstrap }: StartFacts): StartDecision {
  if (platconfig === 'good') return 'use';
  if (hasBootstrap) return 'bootstrap';
  return platconfig === 'expired' ? 'fail-expired' : 'fail';
}
