/** Creates the claims of a StatefulSet's pods, and deletes them as the set's retention policy says. */
import { isDeepStrictEqual } from 'node:util';
import type { StatefulSetSpec } from '#api/gen/apps-v1.ts';
import type { OwnerReference } from '#api/gen/meta-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ResourceCache } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import type { ControllerClient } from '../workloads-kit/controller-base.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';
import { changeObject } from '../workloads-kit/write-status.ts';
import { claimReferences, claimsFor } from './pods.ts';

/** A claim that a pod needs is terminating: the pod has to wait. */
class ClaimEndingError extends Error {
  override readonly name = 'ClaimEndingError';
  readonly reason = 'ClaimEnding';
}

export interface StatefulClaims {
  /** Creates missing claims. @throws StatusError, ClaimEndingError */
  ensure(set: ApiObject, spec: StatefulSetSpec, ordinal: number, expect: () => void): Promise<void>;
  /** Updates their owner references to the policy. @throws StatusError */
  retain(
    set: ApiObject,
    spec: StatefulSetSpec,
    place: { readonly ordinal: number; readonly pod: PodFacts },
    expect: () => void,
  ): Promise<void>;
}

export interface StatefulClaimsDeps extends ControllerClient {
  /** Cache of claims. */
  readonly cache: Pick<ResourceCache, 'get'>;
  /** Resource of claims. */
  readonly resource: Resource;
}

const plainReference = ({ apiVersion, kind, metadata }: ApiObject): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
});

export function createStatefulClaims(deps: StatefulClaimsDeps): StatefulClaims {
  const { verbs, caller, events, fieldManager, resource, cache } = deps;

  async function create(set: ApiObject, claim: ApiObject): Promise<void> {
    const { name = '', namespace = '' } = claim.metadata;
    resource.schema.applyDefaults(claim);
    try {
      await verbs.create({
        ref: { resource, namespace, name },
        object: claim,
        dryRun: false,
        fieldManager,
        caller,
      });
      const message = `create Claim ${name} in StatefulSet ${set.metadata.name ?? ''} success`;
      events.record(set, 'Normal', 'SuccessfulCreate', message);
    } catch (thrown) {
      if (!(thrown instanceof StatusError && thrown.reason === 'AlreadyExists')) throw thrown;
    }
  }

  return {
    async ensure(set, spec, ordinal, expect) {
      for (const claim of claimsFor(set, spec, ordinal)) {
        const { name = '', namespace = '' } = claim.metadata;
        const found = cache.get(`${namespace}/${name}`)?.object();
        if (found?.metadata.deletionTimestamp !== undefined) {
          throw new ClaimEndingError(`claim ${name} is being deleted`);
        }
        if (found !== undefined) continue;
        expect();
        await create(set, claim);
      }
    },
    async retain(set, spec, { ordinal, pod }, expect) {
      const policy = spec.persistentVolumeClaimRetentionPolicy;
      if (policy === undefined) return;
      const owners = {
        set: plainReference(set),
        pod: plainReference(pod.cached.object()),
        surplus: ordinal >= (spec.replicas ?? 1),
      };
      for (const { metadata } of claimsFor(set, spec, ordinal)) {
        const { name = '', namespace = '' } = metadata;
        const found = cache.get(`${namespace}/${name}`)?.object();
        if (found === undefined) continue;
        const before = found.metadata.ownerReferences ?? [];
        if (isDeepStrictEqual(claimReferences(before, policy, owners), before)) continue;
        expect();
        await changeObject(deps, { resource, namespace, name }, found.metadata.uid ?? '', (draft) => {
          draft.metadata.ownerReferences = claimReferences(
            draft.metadata.ownerReferences ?? [],
            policy,
            owners,
          );
        });
      }
    },
  };
}
