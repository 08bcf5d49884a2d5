/** The Available condition of APIServices. Pure. Source: upstream's availability controller. */
import type { APIService, APIServiceCondition } from '#api/gen/apiregistration-v1.ts';
import { AVAILABLE } from './api-services.ts';
import type { Unreachable } from './resolve-service.ts';

/** Result of an availability check. */
export type Finding =
  | { readonly kind: 'passed' }
  | ({ readonly kind: 'unreachable' } & Unreachable)
  | { readonly kind: 'failedDiscovery'; readonly url: string; readonly problem: string };

type Verdict = Pick<APIServiceCondition, 'status' | 'reason' | 'message'>;

export function verdictOf(finding: Finding): Verdict {
  switch (finding.kind) {
    case 'passed':
      return { status: 'True', reason: 'Passed', message: 'all checks passed' };
    case 'unreachable':
      return { status: 'False', reason: finding.reason, message: finding.message };
    case 'failedDiscovery':
      return {
        status: 'False',
        reason: 'FailedDiscoveryCheck',
        message: `failing or missing response from ${finding.url}: ${finding.problem}`,
      };
    default:
      return finding satisfies never;
  }
}

/** Returns the status with the verdict; `undefined` if it already contains it. */
export function withVerdict(
  status: APIService['status'],
  verdict: Verdict,
  now: string,
): APIService['status'] | undefined {
  const conditions = status?.conditions ?? [];
  const old = conditions.find(({ type }) => type === AVAILABLE);
  const same = old?.status === verdict.status;
  if (same && old.reason === verdict.reason && old.message === verdict.message) return undefined;
  const lastTransitionTime = (same ? old.lastTransitionTime : undefined) ?? now;
  const condition: APIServiceCondition = { type: AVAILABLE, ...verdict, lastTransitionTime };
  return {
    ...status,
    conditions:
      old === undefined
        ? [...conditions, condition]
        : conditions.map((each) => (each === old ? condition : each)),
  };
}
