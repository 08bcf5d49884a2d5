/** Mutating and validating webhook configurations. Source: webhooks, document 2 §2.6;
 *  admissionregistration/v1. */
import { isDeepStrictEqual } from 'node:util';
import type { MutatingWebhook, ValidatingWebhook } from '#api/gen/admissionregistration-v1.ts';
import type { ObjectMeta } from '#api/gen/meta-v1.ts';
import { dns1035LabelErrors } from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import { validateLabelSelector } from '#api/schema/validation/label-selector.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf } from '../../rows.ts';
import { kindStrategy } from '../kind.ts';
import { fullyQualifiedNameErrors } from '../names.ts';
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
  errors: FieldErrors,
  versions: readonly string[],
  known: boolean,
  path: string,
): void {
  if (versions.length === 0) {
    return errors.required(path, `must specify one of ${REVIEW_VERSIONS.join(', ')}`);
  }
  for (const [index, version] of versions.entries()) {
    if (versions.indexOf(version) < index) errors.invalid(`${path}[${index}]`, version, 'duplicate version');
    errors.invalidAll(`${path}[${index}]`, version, dns1035LabelErrors(version));
  }
  if (known && !speaks(versions)) {
    errors.invalid(path, versions, `must include at least one of ${REVIEW_VERSIONS.join(', ')}`);
  }
  return undefined;
}

const speaks = (versions: readonly string[]): boolean =>
  versions.some((version) => REVIEW_VERSIONS.includes(version));

function validateWebhook(errors: FieldErrors, hook: Webhook, mustSpeak: boolean, path: string): void {
  const { name, rules = [], sideEffects, timeoutSeconds } = hook;
  if (name === '') errors.required(`${path}.name`);
  else errors.invalidAll(`${path}.name`, name, fullyQualifiedNameErrors(name));
  for (const [index, rule] of rules.entries()) validateRule(errors, rule, `${path}.rules[${index}]`);
  if (!SIDE_EFFECTS.includes(sideEffects)) {
    errors.unsupported(`${path}.sideEffects`, sideEffects, SIDE_EFFECTS);
  }
  const seconds = timeoutSeconds ?? LONGEST_TIMEOUT_SECONDS;
  if (seconds < 1 || seconds > LONGEST_TIMEOUT_SECONDS) {
    const detail = `the timeout value must be between 1 and ${LONGEST_TIMEOUT_SECONDS} seconds`;
    errors.invalid(`${path}.timeoutSeconds`, seconds, detail);
  }
  for (const member of ['namespaceSelector', 'objectSelector'] as const) {
    const selector = hook[member];
    if (selector !== undefined) validateLabelSelector(errors, selector, `${path}.${member}`);
  }
  validateWebhookClient(errors, hook.clientConfig, `${path}.clientConfig`);
  validateReviewVersions(errors, hook.admissionReviewVersions, mustSpeak, `${path}.admissionReviewVersions`);
}

function validateWebhooks(errors: FieldErrors, hooks: readonly Webhook[], mustSpeak: boolean): void {
  const names = new Set<string>();
  for (const [index, hook] of hooks.entries()) {
    const path = `webhooks[${index}]`;
    validateWebhook(errors, hook, mustSpeak, path);
    if (names.has(hook.name)) errors.duplicate(`${path}.name`, hook.name);
    names.add(hook.name);
  }
}

function configuration(): KindEntry {
  return {
    strategy: kindStrategy<Configuration>({
      unconditionalUpdate: false,
      countsGeneration: true,
      generationChanged: (object, old) => !isDeepStrictEqual(object.webhooks, old.webhooks),
      validateCreate: (errors, { webhooks = [] }) => validateWebhooks(errors, webhooks, true),
      // Objects with unsupported versions can still be changed otherwise.
      validateUpdate: (errors, { webhooks = [] }, { webhooks: old = [] }) =>
        validateWebhooks(
          errors,
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
