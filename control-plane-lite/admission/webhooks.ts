/** Admission webhooks: calls mutating webhooks one by one, validating webhooks concurrently. Source:
 *  MutatingAdmissionWebhook and ValidatingAdmissionWebhook, document 2 §2.6 and §2.7. */

import { isDeepStrictEqual } from 'node:util';
import { MemberNames } from '#api/codec/member-names.ts';
import { finish, finishInTurns, type Steps } from '#api/kit/steps.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { turnOf } from '../kit/yield.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { sameJsonSteps } from '../patch/json-value.ts';
import type { ApiObject, ObjectSchema, Resource } from '../resources/contract.ts';
import { decodeLarge } from '../resources/decode-large.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import type { HookCaller } from './webhooks/call.ts';
import { followHooks, type Hook } from './webhooks/hook.ts';
import { concerns } from './webhooks/match.ts';
import { replaceContent } from './webhooks/review.ts';
import { seeIn, seenBack, type VersionsOf } from './webhooks/seen.ts';

const OPERATIONS = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'] as const;

export interface WebhookDeps extends Pick<AdmissionDeps, 'vocabulary' | 'objects'> {
  readonly caller: HookCaller;
  readonly versionsOf: VersionsOf;
}

/** Webhook with the version of the objects in the call. */
interface Chosen {
  readonly hook: Hook;
  readonly version: Resource;
}

interface ChangeTerms {
  readonly schema: ObjectSchema;
  /** The object or the patch is large. */
  readonly inSlices: boolean;
}

/** Finds the webhooks of a kind that a request concerns. */
function createChooser(
  { vocabulary, objects, versionsOf }: WebhookDeps,
  plural: string,
): (request: AdmissionRequest) => readonly Chosen[] {
  const group = `admissionregistration.${vocabulary.apiGroupDomain}`;
  const hooks = followHooks(objects(group, plural));
  const namespaces = objects('', 'namespaces');

  function labelsOf({
    resource,
    object,
    old,
    namespace,
  }: AdmissionRequest): Readonly<Record<string, string>> | undefined {
    const { info } = resource;
    if (info.group === '' && info.plural === 'namespaces') return (object ?? old)?.metadata.labels ?? {};
    return info.namespaced ? (namespaces.get(namespace)?.labels ?? {}) : undefined;
  }

  return (request) => {
    const all = hooks();
    // A webhook can't keep itself from being removed.
    if (all.length === 0 || request.resource.info.group === group) return [];
    const labels = labelsOf(request);
    return all.flatMap((hook) => {
      const version = concerns(hook, request, labels, versionsOf);
      return version === undefined ? [] : [{ hook, version }];
    });
  };
}

export function createValidatingWebhooks(deps: WebhookDeps): AdmissionPlugin {
  const choose = createChooser(deps, 'validatingwebhookconfigurations');
  return {
    name: 'ValidatingAdmissionWebhook',
    operations: OPERATIONS,
    validate(request) {
      const hooks = choose(request);
      return hooks.length === 0 ? undefined : judge(hooks, request, deps);
    },
  };
}

/** @throws StatusError of the first that refuses, in the order of the webhooks */
async function judge(
  hooks: readonly Chosen[],
  request: AdmissionRequest,
  { caller, versionsOf }: WebhookDeps,
): Promise<void> {
  const results = await Promise.allSettled(
    hooks.map(async ({ hook, version }) =>
      caller.call(hook, request, await seeIn(version, request, versionsOf)),
    ),
  );
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

export function createMutatingWebhooks(deps: WebhookDeps): AdmissionPlugin {
  const { caller, versionsOf } = deps;
  const choose = createChooser(deps, 'mutatingwebhookconfigurations');

  /** Whether the object is another now. */
  async function askOne({ hook, version }: Chosen, request: AdmissionRequest): Promise<boolean> {
    const seen = await seeIn(version, request, versionsOf);
    const response = await caller.call(hook, request, seen);
    if (response?.patch === undefined || request.object === undefined) return false;
    if (seen.object === undefined) return false;
    // Whatever is done to the object from now on.
    if (response.isLarge) request.isLarge = true;
    const inSlices = request.isLarge === true;
    const terms = { schema: request.schema ?? seen.resource.schema, inSlices };
    const steps = changeSteps(hook, seen.object, response.patch, terms);
    const made = inSlices ? await finishInTurns(steps, turnOf({ signal: request.signal() })) : finish(steps);
    if (made === undefined) return false;
    replaceContent(request.object, await seenBack(made, request.object, seen, versionsOf));
    return true;
  }

  async function askAll(hooks: readonly Chosen[], request: AdmissionRequest): Promise<void> {
    const again = new Set<Chosen>();
    const called: Chosen[] = [];
    for (const chosen of hooks) {
      if (await askOne(chosen, request)) {
        for (const earlier of called) if (earlier.hook.again) again.add(earlier);
      }
      called.push(chosen);
    }
    for (const chosen of again) await askOne(chosen, request);
  }

  function mutate(request: AdmissionRequest): void | Promise<void> {
    const hooks = choose(request);
    return hooks.length === 0 ? undefined : askAll(hooks, request);
  }
  return {
    name: 'MutatingAdmissionWebhook',
    operations: OPERATIONS,
    mutate,
    // Deletions cannot be mutated, but the webhooks are called for them.
    validate: (request) => (request.operation === 'DELETE' ? mutate(request) : undefined),
  };
}

/** Applies the patch to the object; `undefined` if it changes nothing.
 *  @throws StatusError InternalError if the patch or what it makes can't be read, RequestEntityTooLarge */
function* changeSteps(
  hook: Hook,
  object: ApiObject,
  patch: unknown,
  { schema, inSlices }: ChangeTerms,
): Steps<ApiObject | undefined> {
  const names = inSlices ? new MemberNames() : undefined;
  let patched: unknown;
  try {
    patched = yield* applyJsonPatch(object, patch, names);
  } catch (thrown) {
    throw unusable(hook, thrown instanceof Error ? thrown.message : 'not a valid patch', thrown);
  }
  const isSame = inSlices ? yield* sameJsonSteps(patched, object) : isDeepStrictEqual(patched, object);
  if (isSame) return undefined;
  const { object: made, errors } = inSlices
    ? yield* decodeLarge(schema, patched, { names })
    : schema.decode(patched);
  const [fieldError] = errors;
  if (fieldError !== undefined) throw unusable(hook, `${fieldError.field}: ${fieldError.detail}`);
  return made;
}

const unusable = ({ name }: Hook, why: string, cause?: unknown): StatusError =>
  new StatusError(
    'InternalError',
    `Internal error occurred: the patch of webhook ${JSON.stringify(name)} cannot be used: ${why}`,
    { cause },
  );
