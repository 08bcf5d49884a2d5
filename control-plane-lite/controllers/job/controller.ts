/** Job controller: creates pods, counts finished ones, and reports when a job is complete. */

import type { Job, JobStatus } from '#api/gen/batch-v1.ts';
import { asError } from '#api/kit/errno.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import type { Children } from '../workloads-kit/children.ts';
import { controllerReference } from '../workloads-kit/claim.ts';
import {
  type ControllerBase,
  claimChildren,
  createControllerBase,
  followOwned,
  refOf,
} from '../workloads-kit/controller-base.ts';
import { isNamespaceEnding } from '../workloads-kit/namespace-ending.ts';
import type { Owner } from '../workloads-kit/owners.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';
import { createPodWriter, type PodWriter } from '../workloads-kit/pod-writer.ts';
import { sameStatus } from '../workloads-kit/same-status.ts';
import { slowStart } from '../workloads-kit/slow-start.ts';
import { changeObject, writeStatus } from '../workloads-kit/write-status.ts';
import { decideJob, type JobPlan } from './decide.ts';
import { isDone, type JobFacts, type JobNames, type JobPod, jobFacts, jobNames, jobPod } from './model.ts';
import { createOrphanRelease } from './orphans.ts';
import { podOfJob } from './pods.ts';

interface Parts extends ControllerBase {
  readonly podResource: Resource;
  readonly pods: Children<PodFacts>;
  readonly writer: PodWriter;
  readonly names: JobNames;
  /** Facts of a pod, cached per revision. */
  readonly read: (pod: PodFacts) => JobPod;
}

/** Removes the finalizer of a counted pod. */
async function releasePod(
  { client, podResource, names }: Pick<Parts, 'client' | 'podResource' | 'names'>,
  pod: PodFacts,
): Promise<void> {
  await changeObject(client, refOf(podResource, pod), pod.uid, ({ metadata }) => {
    const left = (metadata.finalizers ?? []).filter((finalizer) => finalizer !== names.tracking);
    if (left.length > 0) metadata.finalizers = left;
    else delete metadata.finalizers;
  });
}

async function removePods({ writer, queue }: Parts, owner: Owner, remove: readonly JobPod[]): Promise<void> {
  if (remove.length === 0) return;
  queue.expect(owner.key);
  const object = owner.cached.object();
  const results = await Promise.allSettled(remove.map((pod) => writer.remove(object, pod)));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw asError(failed.reason);
}

async function createPods(
  { writer, resource, names, queue }: Parts,
  owner: Owner,
  { tracked }: JobFacts,
  create: JobPlan['create'],
): Promise<void> {
  if (create.length === 0) return;
  queue.expect(owner.key);
  const job = owner.cached.object();
  const reference = controllerReference(resource, job);
  const template = typed<Job>(job).spec?.template ?? {};
  const { error } = await slowStart(create.length, (at) =>
    writer.create(job, podOfJob({ job, template, reference, names, index: create[at], tracked })),
  );
  if (error !== undefined && !isNamespaceEnding(error)) throw error;
}

async function writeJobStatus(
  parts: Parts,
  owner: Owner,
  before: JobStatus,
  status: JobStatus,
): Promise<void> {
  if (sameStatus('batch/v1.JobStatus', status, before)) return;
  parts.queue.expect(owner.key);
  await writeStatus(parts.client, refOf(parts.resource, owner.cached), owner.uid, status);
}

/** Pods are deleted before they are counted, and recorded in the status before their finalizer is removed. */
async function execute(parts: Parts, owner: Owner, job: JobFacts, plan: JobPlan): Promise<void> {
  await removePods(parts, owner, plan.remove);
  await writeJobStatus(parts, owner, job.status, plan.status);
  for (const { type, reason, message } of plan.events) {
    parts.client.events.record(owner.cached.object(), type, reason, message);
  }
  if (plan.release.length > 0) parts.queue.expect(owner.key);
  for (const pod of plan.release) await releasePod(parts, pod);
  await createPods(parts, owner, job, plan.create);
}

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { owners, deps, resource, podResource, pods: children, client, queue, names } = parts;
  const owner = owners.get(key);
  if (owner === undefined) return undefined;
  const object: ApiObject = owner.cached.object();
  const job = jobFacts(typed<Job>(object), names);
  const expect = (): void => queue.expect(key);
  const claimed = await claimChildren(
    { client, owners: resource, resource: podResource, children, expect },
    owner,
    object,
  );
  const pods = claimed.map(parts.read);
  if (isDone(job.status)) {
    for (const pod of pods.filter(({ held }) => held)) await releasePod(parts, pod);
    return undefined;
  }
  const plan = decideJob({
    job,
    pods,
    nowMs: deps.clock.now(),
    reportReady: deps.gates.has('JobReadyPods'),
  });
  await execute(parts, owner, job, plan);
  return plan.recheckMs;
}

/** Facts of pods, parsed once per revision. */
function createReader(names: JobNames): (pod: PodFacts) => JobPod {
  const known = new WeakMap<PodFacts, JobPod>();
  return (pod) => {
    const found = known.get(pod) ?? jobPod(pod, names);
    known.set(pod, found);
    return found;
  };
}

export const jobController: Controller = defineController({
  name: 'job',
  identity: 'job-controller',
  watches: ['jobs', 'pods'],
  writes: {
    jobs: { status: ['status'] },
    pods: { create: true, delete: true, update: ['metadata.ownerReferences', 'metadata.finalizers'] },
  },
  recordsEvents: true,
  start(context) {
    const podResource = context.resourceOf('pods');
    const base = createControllerBase(context, {
      resource: context.resourceOf('jobs'),
      selectorOf: (object) => typed<Job>(object).spec?.selector,
    });
    const names = jobNames(context.vocabulary);
    const pods = context.pods();
    const writer = createPodWriter({ ...base.client, pods: podResource });
    const read = createReader(names);
    const parts: Parts = { ...base, podResource, pods, writer, names, read };
    const orphans = createOrphanRelease({
      ...base.deps,
      pods,
      owners: base.owners,
      isHeld: (pod) => read(pod).held,
      release: (pod) => releasePod(parts, pod),
    });
    return {
      reconcile: (key) => reconcile(parts, key),
      follows: followOwned(base, pods),
      background: [(signal) => orphans.run(signal)],
    };
  },
});
