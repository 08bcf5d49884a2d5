/** Webhooks of all configurations in call order. */

import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  RuleWithOperations,
} from '#api/gen/admissionregistration-v1.ts';
import type { Requirement } from '#api/meta/selectors.ts';
import { selectorRequirements } from '#api/meta/selectors.ts';
import { typed } from '../../resources/view.ts';
import type { WebhookClient } from '../../webhooks/call.ts';
import type { ObjectSource } from '../deps.ts';

export interface Hook {
  readonly name: string;
  readonly client: WebhookClient;
  readonly rules: readonly RuleWithOperations[];
  /** Whether the rules match equivalent versions. */
  readonly equivalent: boolean;
  readonly ignoresFailure: boolean;
  readonly namespaces: readonly Requirement[];
  readonly objects: readonly Requirement[];
  /** Whether it may be called for dry runs. */
  readonly takesDryRuns: boolean;
  readonly timeoutMs: number;
  readonly reviewVersions: readonly string[];
  /** Is called again if a later one changed the object. */
  readonly again: boolean;
}

const DEFAULT_SECONDS = 10;

function hookOf(webhook: MutatingWebhook): Hook {
  return {
    name: webhook.name,
    client: webhook.clientConfig,
    rules: webhook.rules ?? [],
    equivalent: webhook.matchPolicy !== 'Exact',
    ignoresFailure: webhook.failurePolicy === 'Ignore',
    namespaces: selectorRequirements(webhook.namespaceSelector ?? {}),
    objects: selectorRequirements(webhook.objectSelector ?? {}),
    takesDryRuns: webhook.sideEffects === 'None' || webhook.sideEffects === 'NoneOnDryRun',
    timeoutMs: (webhook.timeoutSeconds ?? DEFAULT_SECONDS) * 1000,
    reviewVersions: webhook.admissionReviewVersions,
    again: webhook.reinvocationPolicy === 'IfNeeded',
  };
}

/** Returns all current webhooks, sorted by the names of their configurations, then in their order there. */
export function followHooks(source: Pick<ObjectSource, 'follow'>): () => readonly Hook[] {
  const byConfiguration = new Map<string, readonly Hook[]>();
  let all: readonly Hook[] = [];
  source.follow(({ type, current }) => {
    // Validating webhooks have no member that mutating ones lack.
    const { webhooks = [] } = typed<MutatingWebhookConfiguration>(current.object());
    if (type === 'DELETED') byConfiguration.delete(current.name);
    else byConfiguration.set(current.name, webhooks.map(hookOf));
    all = [...byConfiguration.keys()].toSorted().flatMap((name) => byConfiguration.get(name) ?? []);
  });
  return () => all;
}
