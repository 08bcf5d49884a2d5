/** Binds the claims of a pod with delayed binding: to the chosen volumes, or by requesting provisioning on
 *  the node, and waits until they are bound. Source: upstream's volume binder, release 1.24. */

import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../../resources/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import { membersOf } from '../../resources/view.ts';
import type { Verbs } from '../../verbs/contract.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { chooseVolumes, claimKeyOf, claimState, isBound, type VolumeChoice } from '../fleet/claims.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { NodeInfo, PodInfo } from '../fleet/model.ts';

export interface VolumeBinderDeps {
  readonly registry: Pick<ResourceRegistry, 'find'>;
  readonly verbs: Pick<Verbs, 'update'>;
  readonly clock: Clock;
  readonly vocabulary: Vocabulary;
  readonly manager: string;
  readonly fleet: Fleet;
  readonly reserve: (volumeName: string, claimKey: string | undefined) => void;
}

export interface VolumeBinder {
  /** Chooses volumes for the pod on the node and reserves them. */
  assume(pod: PodInfo, node: NodeInfo): void;
  /** Binds the selected volumes. @throws VolumeBindingError on timeout, StatusError */
  bind(pod: PodInfo, nodeName: string, signal: AbortSignal): Promise<void>;
  /** Claims or volumes changed. */
  onVolumes(): void;
}

/** Timeout of provisioning; the same as upstream's. */
const LONGEST_MS = 600_000;

class VolumeBindingError extends Error {
  override readonly name = 'VolumeBindingError';
}

interface Wait {
  readonly isOver: () => boolean;
  readonly resolve: () => void;
}

interface Waits {
  /** Resolves when the claim is bound or deleted. */
  untilBound(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<void>;
  look(): void;
}

function createWaits({ fleet: { volumes }, clock }: VolumeBinderDeps): Waits {
  const waits = new Set<Wait>();

  async function untilBound(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<void> {
    const key = claimKeyOf(claim);
    const isOver = (): boolean => {
      const live = volumes.claim(key);
      return live === undefined || isBound(live);
    };
    if (isOver()) return;
    await new Promise<void>((resolve, reject) => {
      const end = (act: () => void) => (): void => {
        waits.delete(wait);
        timer.cancel();
        signal.removeEventListener('abort', onAbort);
        act();
      };
      const late = (): void =>
        reject(new VolumeBindingError(`timed out waiting for claim ${key} to be bound`));
      const onAbort = end(() => reject(new VolumeBindingError('the scheduler is stopping')));
      const timer = clock.setTimer(end(late), LONGEST_MS);
      const wait: Wait = { isOver, resolve: end(resolve) };
      waits.add(wait);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  return {
    untilBound,
    look() {
      for (const wait of waits) {
        if (wait.isOver()) wait.resolve();
      }
    },
  };
}

async function change(
  deps: VolumeBinderDeps,
  plural: string,
  { namespace = '', name = '' }: { readonly namespace?: string; readonly name?: string },
  edit: Edit,
  signal: AbortSignal,
): Promise<void> {
  const resource = deps.registry.find('', 'v1', plural);
  if (resource === undefined) return;
  await deps.verbs.update({
    ref: { resource, namespace, name },
    change: (live) => {
      return edited(live, edit);
    },
    dryRun: false,
    fieldManager: deps.manager,
    caller: controllerCaller(deps.manager, signal),
  });
}

async function carryOut(
  deps: VolumeBinderDeps,
  choice: VolumeChoice,
  nodeName: string,
  signal: AbortSignal,
): Promise<void> {
  const { domain } = deps.vocabulary;
  const { metadata = {} } = choice.claim;
  if (choice.kind === 'provision') {
    const edit: Edit = { annotation: [`volume.${domain}/selected-node`, nodeName] };
    await change(deps, 'persistentvolumeclaims', metadata, edit, signal);
    return;
  }
  const { namespace, name, uid } = metadata;
  const edit: Edit = {
    annotation: [`pv.${domain}/bound-by-controller`, 'yes'],
    claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid },
  };
  await change(deps, 'persistentvolumes', { name: nameOf(choice.volume) }, edit, signal);
}

const nameOf = ({ metadata }: PersistentVolume): string => metadata?.name ?? '';

export function createVolumeBinder(deps: VolumeBinderDeps): VolumeBinder {
  const { fleet } = deps;
  const { volumes } = fleet;
  const chosen = new Map<string, readonly VolumeChoice[]>();
  const waits = createWaits(deps);

  function reserve(choice: VolumeChoice, claimKey: string | undefined): void {
    if (choice.kind === 'volume') deps.reserve(nameOf(choice.volume), claimKey);
  }

  return {
    assume(pod, node) {
      const waiting = pod.shape.claims.flatMap((name) => {
        const claim = volumes.claim(`${pod.shape.namespace}/${name}`);
        const state = claim && claimState(claim, volumes);
        return claim !== undefined && state?.kind === 'waiting'
          ? [{ claim, storageClass: state.storageClass }]
          : [];
      });
      const found = waiting.length === 0 ? [] : chooseVolumes(waiting, node, fleet);
      const choices = typeof found === 'string' ? [] : found;
      for (const choice of choices) reserve(choice, claimKeyOf(choice.claim));
      if (choices.length > 0) chosen.set(pod.key, choices);
    },
    async bind(pod, nodeName, signal) {
      const choices = chosen.get(pod.key) ?? [];
      try {
        for (const choice of choices) await carryOut(deps, choice, nodeName, signal);
        await Promise.all(choices.map(({ claim }) => waits.untilBound(claim, signal)));
      } finally {
        for (const choice of choices) reserve(choice, undefined);
        chosen.delete(pod.key);
      }
    },
    onVolumes: () => waits.look(),
  };
}

interface Edit {
  readonly annotation: readonly [string, string];
  readonly claimRef?: object;
}

function edited(live: ApiObject, { annotation: [key, value], claimRef }: Edit): ApiObject {
  live.metadata.annotations = { ...live.metadata.annotations, [key]: value };
  if (claimRef !== undefined) membersOf(live, 'spec')['claimRef'] = claimRef;
  return live;
}
