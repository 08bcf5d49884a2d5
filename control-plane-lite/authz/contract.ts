/** Contract of authorizers. Modes run in order; the first that allows or denies decides. Source:
 *  authorization, document 2 §5. */
import type { UserInfo } from '../resources/contract.ts';

export interface AuthorizationAttributes {
  readonly user: UserInfo;
  readonly verb: string;
  readonly isResource: boolean;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** For paths of no resource. */
  readonly path: string;
}

export interface Decision {
  readonly effect: 'allow' | 'deny' | 'none';
  readonly reason: string;
  /** Why the request could not be evaluated. */
  readonly error?: string;
}

export interface ResourceRuleView {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface NonResourceRuleView {
  readonly verbs: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface UserRules {
  readonly resource: readonly ResourceRuleView[];
  readonly nonResource: readonly NonResourceRuleView[];
  /** Why the rules are incomplete; empty: they are complete. */
  readonly missing: readonly string[];
}

export interface Authorizer {
  readonly name: string;
  authorize(attributes: AuthorizationAttributes): Decision | Promise<Decision>;
  /** Returns the rules of the user in a namespace, for SelfSubjectRulesReview. */
  rulesOf(user: UserInfo, namespace: string): UserRules;
}
