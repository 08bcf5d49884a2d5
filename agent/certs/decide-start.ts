/** How an agent gets in when it starts. Pure. */

export interface StartFacts {
  /** `broken`: it cannot be read or used; `expired`: its certificate is over. */
  readonly platconfig: 'missing' | 'broken' | 'expired' | 'good';
  /** Whether there is a configuration to get a first certificate with. */
  readonly hasBootstrap: boolean;
}

export type StartDecision =
  /** With the platconfig. */
  | 'use'
  /** With the bootstrap configuration, for a certificate and a platconfig. */
  | 'bootstrap'
  /** Not at all: the platconfig's faults are told. */
  | 'fail'
  | 'fail-expired';

export function decideStart({ platconfig, hasBootstrap }: StartFacts): StartDecision {
  if (platconfig === 'good') return 'use';
  if (hasBootstrap) return 'bootstrap';
  return platconfig === 'expired' ? 'fail-expired' : 'fail';
}
