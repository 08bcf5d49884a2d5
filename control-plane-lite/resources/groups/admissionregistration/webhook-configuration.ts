/** Mutating and validating webhook configurations. Source: webhooks, document 2 §2.6;
 *  admissionregistration/v1. */
import { isDeepStrictEqual } from 'node:util';
import type { MutatingWebhook, ValidatingWebhook } from '#api/gen/admissionregistration-v1.ts';
import type { ObjectMeta } from '#api/gen/meta-v1.ts';
import { dns1035LabelFaults } from '#api/meta/names.ts';
import type { Faults } from '#api/schema/validation/faults.ts';
import { validateLabelSelector } from '#api/schema/validation/label-selector.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf } from '../../rows.ts';
import { kindStrategy } from '../kind.ts';
import { fullyQualifiedNameFaults } from '../names.ts';
import { validateWebhookClient } from '../webhook-client.ts';
import { validateRule } from './rules.ts';

type Webhook = MutatingWebhook | ValidatingWebhook;

interface Configuration {
  readonly metadata?: ObjectMeta;
  readonly webhooks?: readonly Webhook[];
}

/** Versions of AdmissionReview that the server speaks. */
export const REVIEW_VERSIONS: readonly string[] = ['v1', 'v1beta1'];
const SIDE_EFFECTS = ['None', 'NoneOnDryRun'];
const LONGEST_TIMEOUT_SECONDS = 30;

function validateReviewVersions(
  faults: Faults,
  versions: readonly string[],
  known: boolean,
  path: string,
): void {
  if (versions.length === 0) {
    return faults.required(path, `must specify one of ${REVIEW_VERSIONS.join(', ')}`);
  }
  for (const [index, version] of versions.entries()) {
    if (versions.indexOf(version) < index) faults.invalid(`${path}[${index}]`, version, 'duplicate version');
    faults.invalidAll(`${path}[${index}]`, version, dns1035LabelFaults(version));
  }
  if (known && !speaks(versions)) {
    faults.invalid(path, versions, `must include at least one of ${REVIEW_VERSIONS.join(', ')}`);
  }
  return undefined;
}

const speaks = (versions: readonly string[]): boolean =>
  versions.some((version) => REVIEW_VERSIONS.includes(version));

function validateWebhook(faults: Faults, hook: Webhook, mustSpeak: boolean, path: string): void {
  const { name, rules = [], sideEffects, timeoutSeconds } = hook;
  if (name === '') faults.required(`${path}.name`);
  else faults.invalidAll(`${path}.name`, name, fullyQualifiedNameFaults(name));
  for (const [index, rule] of rules.entries()) validateRule(faults, rule, `${path}.rules[${index}]`);
  if (!SIDE_EFFECTS.includes(sideEffects)) {
    faults.unsupported(`${path}.sideEffects`, sideEffects, SIDE_EFFECTS);
  }
  const seconds = timeoutSeconds ?? LONGEST_TIMEOUT_SECONDS;
  if (seconds < 1 || seconds > LONGEST_TIMEOUT_SECONDS) {
    const detail = `the timeout value must be between 1 and ${LONGEST_TIMEOUT_SECONDS} seconds`;
    faults.invalid(`${path}.timeoutSeconds`, seconds, detail);
  }
  for (const member of ['namespaceSelector', 'objectSelector'] as const) {
    const selector = hook[member];
    if (selector !== undefined) validateLabelSelector(faults, selector, `${path}.${member}`);
  }
  validateWebhookClient(faults, hook.clientConfig, `${path}.clientConfig`);
  validateReviewVersions(faults, hook.admissionReviewVersions, mustSpeak, `${path}.admissionReviewVersions`);
}

function validateWebhooks(faults: Faults, hooks: readonly Webhook[], mustSpeak: boolean): void {
  const names = new Set<string>();
  for (const [index, hook] of hooks.entries()) {
    const path = `webhooks[${index}]`;
    validateWebhook(faults, hook, mustSpeak, path);
    if (names.has(hook.name)) faults.duplicate(`${path}.name`, hook.name);
    names.add(hook.name);
  }
}

function configuration(): KindEntry {
  return {
    strategy: kindStrategy<Configuration>({
      unconditionalUpdate: false,
      countsGeneration: true,
      generationChanged: (object, old) => !isDeepStrictEqual(object.webhooks, old.webhooks),
      validateCreate: (faults, { webhooks = [] }) => validateWebhooks(faults, webhooks, true),
      // Objects with unsupported versions can still be changed otherwise.
      validateUpdate: (faults, { webhooks = [] }, { webhooks: old = [] }) =>
        validateWebhooks(
          faults,
          webhooks,
          old.every(({ admissionReviewVersions }) => speaks(admissionReviewVersions)),
        ),
      row: (object, { nowMs }) => [
        object.metadata?.name ?? '',
        object.webhooks?.length ?? 0,
        ageOf(object, nowMs),
      ],
    }),
  };
}

export const mutatingWebhookConfiguration: KindEntry = configuration();
export const validatingWebhookConfiguration: KindEntry = configuration();
