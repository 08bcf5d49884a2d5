/** The versions of the template of a DaemonSet or StatefulSet, kept as ControllerRevisions: which is the current one,
 *  what has to be made, which may go. The decisions are pure. Source: upstream's controller history, release 1.24. */
import { StatusError } from '#api/meta/status-error.ts';
import type { ControllerRevision } from '#api/schema/gen/apps-v1.ts';
import type { PodTemplateSpec } from '#api/schema/gen/core-v1.ts';
import type { CachedObject } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { unlessGone } from '../unless-gone.ts';
import { type Child, childFacts } from './children.ts';
import { controllerReference } from './claim.ts';
import type { Hands } from './family.ts';
import { NameTakenError } from './name-taken.ts';
import { holdsTemplate, revisionData } from './template-form.ts';
import { revisionWord } from './template-hash.ts';
import { changeObject } from './write-status.ts';

/** Label of pods and ControllerRevisions that tells the version. */
export const REVISION_LABEL = 'controller-revision-hash';

export interface RevisionFacts extends Child {
  readonly revision: number;
}

export const revisionFacts = (cached: CachedObject): RevisionFacts => ({
  ...childFacts(cached),
  revision: typed<ControllerRevision>(cached.object()).revision,
});

const dataOf = ({ cached }: RevisionFacts): unknown => typed<ControllerRevision>(cached.object()).data;

/** Oldest first. */
export const byRevision = (left: RevisionFacts, right: RevisionFacts): number =>
  left.revision - right.revision || left.createdMs - right.createdMs;

export type RevisionStep =
  | { readonly kind: 'keep'; readonly found: RevisionFacts }
  /** An older version that comes back is the newest. */
  | { readonly kind: 'raise'; readonly found: RevisionFacts; readonly revision: number }
  | { readonly kind: 'create'; readonly hash: string; readonly revision: number };

/** What to do so that the newest revision has the template. */
export function decideRevision(
  template: PodTemplateSpec,
  revisions: readonly RevisionFacts[],
  collisionCount: number | undefined,
): RevisionStep {
  const sorted = revisions.toSorted(byRevision);
  const found = sorted.findLast((each) => holdsTemplate(dataOf(each), template));
  const newest = Math.max(0, ...sorted.filter((each) => each !== found).map(({ revision }) => revision));
  if (found === undefined)
    return {
      kind: 'create',
      hash: revisionWord(revisionData(template), collisionCount),
      revision: newest + 1,
    };
  return found.revision > newest ? { kind: 'keep', found } : { kind: 'raise', found, revision: newest + 1 };
}

/** The oldest of those that nothing lives by any more, beyond the limit. */
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
  /** Makes the newest revision that of the template. @throws StatusError, NameTakenError */
  sync(owner: ApiObject, template: PodTemplateSpec, step: RevisionStep): Promise<CurrentRevision>;
  remove(revision: RevisionFacts): Promise<void>;
}

export interface RevisionWriterDeps extends Hands {
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
  { hash, revision }: { readonly hash: string; readonly revision: number },
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
  step: { readonly hash: string; readonly revision: number },
): Promise<CurrentRevision> {
  const { verbs, caller, fieldManager, resource } = deps;
  const object = newRevision(deps, owner, template, step);
  const name = object.metadata.name ?? '';
  const ref = { resource, namespace: object.metadata.namespace ?? '', name };
  try {
    await verbs.create(ref, object, { dryRun: false, fieldManager }, caller);
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
        verbs.delete({ resource, namespace, name }, { dryRun: false, preconditions: { uid } }, caller),
      ),
  };
}
