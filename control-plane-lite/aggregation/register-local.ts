/** Registers an APIService for each group version that the server itself serves. Those of built-in groups are
 *  reconciled once after the start, so that administrators may change them later; those of custom resources
 *  follow their definitions. APIServices of other owners stay untouched. */

import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache } from '../cache/contract.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { Caller, Verbs } from '../verbs/contract.ts';
import { controllerCaller } from '../verbs/controller-caller.ts';
import { unlessGone } from '../verbs/unless-gone.ts';
import { automanagedLabel, type LocalApi, leadsElsewhere, localApiObject, localApis } from './automanaged.ts';

export interface RegisterLocalDeps {
  readonly registry: ResourceRegistry;
  readonly cache: Cache;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
  /** APIServices. */
  readonly resource: Resource;
  /** Every group's version that there was at the start has been looked after. */
  readonly onRegistered?: () => void;
}

export type Step = 'create' | 'update' | 'delete' | 'nothing';

const MANAGER = 'autoregister';
/** Time that clients have to create another APIService after they removed a replaceable one. */
const RETURN_MS = 2000;
/** Definitions of custom resources may take so long to be read after the start. */
const PATIENCE_MS = 5000;

/** `settled`: it was looked after since the start. Pure. */
export function decideLocal(
  desired: LocalApi | undefined,
  current: ApiObject | undefined,
  label: string,
  settled: boolean,
): Step {
  if (current === undefined) {
    return desired === undefined || (settled && desired.care === 'onstart') ? 'nothing' : 'create';
  }
  const care = current.metadata.labels?.[label];
  if (care === undefined || (settled && care === 'onstart')) return 'nothing';
  // A client registered another server and retained the label that this server had set.
  if (leadsElsewhere(current) && desired?.isReplaceable !== false) return 'nothing';
  if (desired === undefined) return 'delete';
  return care === desired.care && isDeepStrictEqual(current['spec'], desired.spec) ? 'nothing' : 'update';
}

async function execute(
  { verbs, resource, vocabulary }: RegisterLocalDeps,
  name: string,
  step: Exclude<Step, 'nothing'>,
  desired: LocalApi | undefined,
  caller: Caller,
): Promise<void> {
  const ref = { resource, namespace: '', name };
  const options = { dryRun: false, fieldManager: MANAGER };
  if (desired === undefined) return unlessGone(() => verbs.delete({ ref, dryRun: false, caller }));
  const wanted = localApiObject(desired, vocabulary);
  if (step === 'create') {
    try {
      await verbs.create({ ...options, ref, object: resource.schema.decode(wanted).object, caller });
    } catch (thrown) {
      // Another server of the same store was faster.
      if (!(thrown instanceof StatusError && thrown.reason === 'AlreadyExists')) throw thrown;
    }
    return undefined;
  }
  return unlessGone(() =>
    verbs.update({
      ref,
      change: (live) => {
        live['spec'] = wanted['spec'];
        live.metadata.labels = { ...live.metadata.labels, ...wanted.metadata.labels };
        return live;
      },
      ...options,
      caller,
    }),
  );
}

/** Runs until the signal is aborted. */
export async function runLocalRegistration(deps: RegisterLocalDeps, signal: AbortSignal): Promise<void> {
  const { registry, cache, vocabulary, resource } = deps;
  const caller = controllerCaller(MANAGER, signal);
  const label = automanagedLabel(vocabulary);
  const settled = new Set<string>();
  let desired = localApis(registry.all(), vocabulary);
  const ahead = new Set(desired.keys());

  const queue = createWorkQueue({
    clock: deps.clock,
    async work(name) {
      const wanted = desired.get(name);
      const current = cache.resource(resource.storage).get(name)?.object();
      const step = decideLocal(wanted, current, label, settled.has(name));
      if (step !== 'nothing') await execute(deps, name, step, wanted, caller);
      settled.add(name);
      if (ahead.delete(name) && ahead.size === 0) deps.onRegistered?.();
      return undefined;
    },
    onError: (name, err) => deps.log.warn({ err, apiService: name }, 'Failed to write APIService; retrying'),
  });
  const following = cache.resource(resource.storage).follow(({ current: { name } }) => {
    const wanted = desired.get(name);
    if (wanted === undefined) queue.addAfter(name, PATIENCE_MS);
    else if (wanted.isReplaceable) queue.addAfter(name, RETURN_MS);
    else queue.add(name);
  });
  for (const name of desired.keys()) queue.add(name);
  registry.onChange(() => {
    const before = desired;
    desired = localApis(registry.all(), vocabulary);
    for (const name of new Set([...before.keys(), ...desired.keys()])) {
      if (before.has(name) !== desired.has(name)) queue.add(name);
    }
  });
  await queue.run(signal);
  following.close();
}
