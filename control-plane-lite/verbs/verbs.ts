/** All verbs over one store and cache, and the admission plugins that they run and measure: first all mutating ones,
 *  later all validating ones. */
import type { Clock } from '#api/kit/clock.ts';
import { notFound } from '#api/meta/status-errors.ts';
import type { AdmissionPlugin, AdmissionRequest, Operation } from '../admission/contract.ts';
import type { AdmissionMetrics, AdmissionPhase, DurationSeries } from '../admission/metrics.ts';
import type { Resource } from '../resources/contract.ts';
import type { Verbs } from './contract.ts';
import { createObject } from './create.ts';
import { deleteCollection, deleteObject } from './delete.ts';
import {
  type AdmissionChain,
  admissionRequest,
  cacheKey,
  cacheOf,
  resourceSubject,
  type VerbDeps,
} from './deps.ts';
import { updateObject } from './update.ts';

export function createVerbs(deps: VerbDeps): Verbs {
  return {
    async get(ref) {
      await deps.cache.waitForNewest();
      const found = cacheOf(deps, ref.resource).get(cacheKey(ref));
      if (found === undefined) throw notFound(resourceSubject(ref.resource), ref.name);
      return found;
    },
    create: (write) => createObject(deps, write),
    update: (write) => updateObject(deps, write),
    delete: (write) => deleteObject(deps, write),
    async admit(admitted) {
      const { operation, draft, schema } = admitted;
      const objects = { object: draft, old: undefined, ...(schema === undefined ? {} : { schema }) };
      const request = admissionRequest(operation, admitted, objects);
      await deps.admission.mutate(request);
      await deps.admission.validate(request);
    },
    deleteCollection: (request) => deleteCollection(deps, request),
  };
}

type Step = (request: AdmissionRequest) => void | Promise<void>;

/** The plugins of one phase that concern one operation on one resource. */
interface Phase {
  readonly steps: readonly Step[];
  /** Durations: of each step at its index, and of all. */
  readonly durations: readonly DurationSeries[];
  readonly total: DurationSeries;
}

interface Phases {
  readonly mutate: Phase;
  readonly validate: Phase;
}

export interface AdmissionChainDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly metrics: Pick<AdmissionMetrics, 'step' | 'plugin'>;
}

/** Calls plugins in the given order. The first rejection ends the request. */
export function createAdmissionChain(
  plugins: readonly AdmissionPlugin[],
  { clock, metrics }: AdmissionChainDeps,
): AdmissionChain {
  // Resources come and go with their definitions: the phases are cached as long as the resource exists.
  const known = new WeakMap<Resource, Map<Operation, Phases>>();

  function phasesOf({ resource, operation }: AdmissionRequest): Phases {
    const operations = known.get(resource) ?? new Map<Operation, Phases>();
    known.set(resource, operations);
    const found = operations.get(operation);
    if (found !== undefined) return found;
    const concerned = plugins.filter(
      (plugin) =>
        plugin.operations.includes(operation) &&
        (plugin.resources?.has(`${resource.info.group}/${resource.info.plural}`) ?? true),
    );
    const phaseOf = (member: 'mutate' | 'validate', name: AdmissionPhase): Phase => {
      const own = concerned.filter((plugin) => plugin[member] !== undefined);
      return {
        steps: own.flatMap((plugin) => plugin[member]?.bind(plugin) ?? []),
        durations: own.map((plugin) => metrics.plugin(plugin.name, name, operation)),
        total: metrics.step(name, operation),
      };
    };
    const phases = { mutate: phaseOf('mutate', 'admit'), validate: phaseOf('validate', 'validate') };
    operations.set(operation, phases);
    return phases;
  }

  async function take({ steps, durations, total }: Phase, request: AdmissionRequest): Promise<void> {
    const startMs = clock.monotonic();
    let index = 0;
    let stepMs = startMs;
    try {
      for (; index < steps.length; index += 1) {
        const admitted = steps[index]?.(request);
        if (admitted instanceof Promise) await admitted;
        // The end of one step is the start of the next: reading the clock is most of the cost.
        const nowMs = clock.monotonic();
        durations[index]?.admitted.observe((nowMs - stepMs) / 1000);
        stepMs = nowMs;
      }
    } catch (thrown) {
      const nowMs = clock.monotonic();
      durations[index]?.rejected().observe((nowMs - stepMs) / 1000);
      total.rejected().observe((nowMs - startMs) / 1000);
      throw thrown;
    }
    total.admitted.observe((stepMs - startMs) / 1000);
  }

  return {
    mutate: (request) => take(phasesOf(request).mutate, request),
    validate: (request) => take(phasesOf(request).validate, request),
  };
}
