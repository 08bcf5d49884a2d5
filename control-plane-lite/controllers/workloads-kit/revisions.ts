/** Revisions of the template of a DaemonSet or StatefulSet, stored as ControllerRevisions: the current one,
 *  the one to create, and those to delete. The decisions are pure. Source: upstream's controller history,
 *  release 1.24. */

import type { ControllerRevision } from '#api/gen/apps-v1.ts';
import type { PodTemplateSpec } from '#api/gen/core-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { compareNumbers, nextInt64 } from '#api/kit/int64.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { CachedObject } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { type Child, childFacts } from './children.ts';
import { controllerReference } from './claim.ts';
import type { ControllerClient } from './controller-base.ts';
import { NameTakenError } from './name-taken.ts';
import { holdsTemplate, revisionData } from './template-form.ts';
import { revisionWord } from './template-hash.ts';
import { changeObject } from './write-status.ts';

/** Revision label of pods and ControllerRevisions. */
export const REVISION_LABEL = 'controller-revision-hash';

export interface RevisionFacts extends Child {
  readonly revision: Int64;
}

export const revisionFacts = (cached: CachedObject): RevisionFacts => ({
  ...childFacts(cached),
  revision: typed<ControllerRevision>(cached.object()).revision,
});

const dataOf = ({ cached }: RevisionFacts): unknown => typed<ControllerRevision>(cached.object()).data;

/** Oldest first. */
export const byRevision = (left: RevisionFacts, right: RevisionFacts): number =>
  compareNumbers(left.revision, right.revision) || left.createdMs - right.createdMs;

export type RevisionStep =
  | { readonly kind: 'keep'; readonly found: RevisionFacts }
  /** An older revision that is restored becomes the newest. */
  | { readonly kind: 'raise'; readonly found: RevisionFacts; readonly revision: Int64 }
  | { readonly kind: 'create'; readonly hash: string; readonly revision: Int64 };

/** Changes that make the newest revision match the template. */
export function decideRevision(
  template: PodTemplateSpec,
  revisions: readonly RevisionFacts[],
  collisionCount: number | undefined,
): RevisionStep {
  const sorted = revisions.toSorted(byRevision);
  const found = sorted.findLast((each) => holdsTemplate(dataOf(each), template));
  // In their order; none is below zero.
  const newest = sorted.findLast((each) => each !== found)?.revision ?? 0;
  if (found === undefined)
    return {
      kind: 'create',
      hash: revisionWord(revisionData(template), collisionCount),
      revision: nextInt64(newest),
    };
  return found.revision > newest
    ? { kind: 'keep', found }
    : { kind: 'raise', found, revision: nextInt64(newest) };
}

/** The oldest unused revisions beyond the limit. */
export function outdatedRevisions(
  revisions: readonly RevisionFacts[],
  limit: number,
  isLive: (revision: RevisionFacts) => boolean,
): readonly RevisionFacts[] {
  const idle = revisions.filter((each) => !isLive(each)).toSorted(byRevision);
  return idle.slice(0, Math.max(0, idle.length - limit));
}

/** The current version. */
export interface CurrentRevision {
  readonly name: string;
  readonly hash: string;
}

export interface RevisionWriter {
  /** Makes the template's revision the newest. @throws StatusError, NameTakenError */
  sync(owner: ApiObject, template: PodTemplateSpec, step: RevisionStep): Promise<CurrentRevision>;
  remove(revision: RevisionFacts): Promise<void>;
}

export interface RevisionWriterDeps extends ControllerClient {
  /** Resource of the owners. */
  readonly owners: Resource;
  /** Resource of ControllerRevisions. */
  readonly resource: Resource;
}

export const hashOf = ({ labels, name }: Pick<Child, 'labels' | 'name'>): string =>
  labels[REVISION_LABEL] ?? name;

function newRevision(
  { owners }: RevisionWriterDeps,
  owner: ApiObject,
  template: PodTemplateSpec,
  { hash, revision }: { readonly hash: string; readonly revision: Int64 },
): ApiObject {
  const { name = '', namespace = '', annotations } = owner.metadata;
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      labels: { ...template.metadata?.labels, [REVISION_LABEL]: hash },
      ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
      ownerReferences: [controllerReference(owners, owner)],
    },
    data: revisionData(template),
    revision,
  };
}

async function create(
  deps: RevisionWriterDeps,
  owner: ApiObject,
  template: PodTemplateSpec,
  step: { readonly hash: string; readonly revision: Int64 },
): Promise<CurrentRevision> {
  const { verbs, caller, fieldManager, resource } = deps;
  const object = newRevision(deps, owner, template, step);
  const name = object.metadata.name ?? '';
  const ref = { resource, namespace: object.metadata.namespace ?? '', name };
  try {
    await verbs.create({ ref, object, dryRun: false, fieldManager, caller });
  } catch (thrown) {
    if (!(thrown instanceof StatusError && thrown.reason === 'AlreadyExists')) throw thrown;
    const found = (await verbs.get(ref)).object();
    const ours = found.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true;
    const same = holdsTemplate(typed<ControllerRevision>(found).data, template);
    if (!ours || !same) throw new NameTakenError(`ControllerRevision ${name}`, thrown);
  }
  return { name, hash: step.hash };
}

export function createRevisionWriter(deps: RevisionWriterDeps): RevisionWriter {
  const { verbs, caller, resource } = deps;
  return {
    async sync(owner, template, step) {
      if (step.kind === 'create') return create(deps, owner, template, step);
      const { found } = step;
      if (step.kind === 'raise') {
        const ref = { resource, namespace: found.namespace, name: found.name };
        await changeObject(deps, ref, found.uid, (draft) => {
          draft['revision'] = step.revision;
        });
      }
      return { name: found.name, hash: hashOf(found) };
    },
    remove: ({ namespace, name, uid }) =>
      unlessGone(() =>
        verbs.delete({ ref: { resource, namespace, name }, dryRun: false, preconditions: { uid }, caller }),
      ),
  };
}
