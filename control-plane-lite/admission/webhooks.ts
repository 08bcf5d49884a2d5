/** Asks the webhooks that administrators have configured: those that change objects one by one, those that only judge
 *  all at once. Source: document 2, 2.6 and 2.7 (MutatingAdmissionWebhook, ValidatingAdmissionWebhook). */
import { isDeepStrictEqual } from 'node:util';
import { StatusError } from '#api/meta/status-error.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import type { HookCaller } from './webhooks/call.ts';
import { followHooks, type Hook } from './webhooks/hook.ts';
import { concerns } from './webhooks/match.ts';
import { replaceContent } from './webhooks/review.ts';

const OPERATIONS = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'] as const;

/** Finds the webhooks of a kind that a request concerns. */
function createChooser(
  { vocabulary, objects }: AdmissionDeps,
  plural: string,
): (request: AdmissionRequest) => readonly Hook[] {
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
    return all.filter((hook) => concerns(hook, request, labels));
  };
}

export function createValidatingWebhooks(deps: AdmissionDeps, caller: HookCaller): AdmissionPlugin {
  const choose = createChooser(deps, 'validatingwebhookconfigurations');
  return {
    name: 'ValidatingAdmissionWebhook',
    operations: OPERATIONS,
    validate(request) {
      const hooks = choose(request);
      return hooks.length === 0 ? undefined : judge(hooks, request, caller);
    },
  };
}

/** @throws StatusError of the first that refuses, in the order of the webhooks */
async function judge(hooks: readonly Hook[], request: AdmissionRequest, caller: HookCaller): Promise<void> {
  const results = await Promise.allSettled(hooks.map((hook) => caller.ask(hook, request)));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

export function createMutatingWebhooks(deps: AdmissionDeps, caller: HookCaller): AdmissionPlugin {
  const choose = createChooser(deps, 'mutatingwebhookconfigurations');

  /** Whether the object is another now. */
  async function askOne(hook: Hook, request: AdmissionRequest): Promise<boolean> {
    const answer = await caller.ask(hook, request);
    if (answer?.patch === undefined || request.object === undefined) return false;
    return change(hook, request, answer.patch);
  }

  async function askAll(hooks: readonly Hook[], request: AdmissionRequest): Promise<void> {
    const again = new Set<Hook>();
    const asked: Hook[] = [];
    for (const hook of hooks) {
      if (await askOne(hook, request)) {
        for (const earlier of asked) if (earlier.again) again.add(earlier);
      }
      asked.push(hook);
    }
    for (const hook of again) await askOne(hook, request);
  }

  function mutate(request: AdmissionRequest): void | Promise<void> {
    const hooks = choose(request);
    return hooks.length === 0 ? undefined : askAll(hooks, request);
  }
  return {
    name: 'MutatingAdmissionWebhook',
    operations: OPERATIONS,
    mutate,
    // Deletions are not mutated, yet they are asked for.
    validate: (request) => (request.operation === 'DELETE' ? mutate(request) : undefined),
  };
}

/** Puts the patch into effect; whether it changed anything.
 *  @throws StatusError InternalError if the patch or what it makes can't be read */
function change(hook: Hook, { object, resource }: AdmissionRequest, patch: unknown): boolean {
  if (object === undefined) return false;
  const failure = (why: string, cause?: unknown): StatusError =>
    new StatusError(
      'InternalError',
      `Internal error occurred: the patch of webhook ${JSON.stringify(hook.name)} cannot be used: ${why}`,
      { cause },
    );
  let patched: unknown;
  try {
    patched = applyJsonPatch(object, patch);
  } catch (thrown) {
    throw failure(thrown instanceof Error ? thrown.message : 'it is no patch', thrown);
  }
  if (isDeepStrictEqual(patched, object)) return false;
  const { object: made, errors } = resource.schema.decode(patched);
  const [fault] = errors;
  if (fault !== undefined) throw failure(`${fault.field}: ${fault.detail}`);
  replaceContent(object, made);
  return true;
}
