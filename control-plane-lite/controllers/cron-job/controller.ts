/** CronJob controller: creates jobs when they are due. */

import { copyJson } from '#api/codec/copy-json.ts';
import type { CronJob, CronJobStatus, Job } from '#api/gen/batch-v1.ts';
import type { ObjectReference } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { formatTime } from '#api/meta/time.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import { type Child, type Children, childFacts, createChildren } from '../workloads-kit/children.ts';
import { controllerReference } from '../workloads-kit/claim.ts';
import {
  type ControllerBase,
  createControllerBase,
  followOwned,
  refOf,
} from '../workloads-kit/controller-base.ts';
import { isNamespaceEnding } from '../workloads-kit/namespace-ending.ts';
import type { Owner } from '../workloads-kit/owners.ts';
import { sameStatus } from '../workloads-kit/same-status.ts';
import { writeStatus } from '../workloads-kit/write-status.ts';
import { type CronPlan, cronFacts, decideCronJob, type StartedJob, startedJob } from './decide.ts';

interface Parts extends ControllerBase {
  readonly jobResource: Resource;
  readonly jobs: Children<Child>;
}

type Start = NonNullable<CronPlan['start']>;

/** The job of a scheduled time. Only later releases record that time in an annotation. */
function jobOf({ resource }: Parts, cron: ApiObject, { name }: Start): ApiObject {
  const template = typed<CronJob>(cron).spec?.jobTemplate;
  const { labels, annotations } = template?.metadata ?? {};
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name,
      namespace: cron.metadata.namespace ?? '',
      ...(labels === undefined ? {} : { labels: { ...labels } }),
      ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
      ownerReferences: [controllerReference(resource, cron)],
    },
    spec: copyJson(template?.spec ?? {}),
  };
}

const referenceTo = ({ metadata }: ApiObject): ObjectReference => ({
  kind: 'Job',
  namespace: metadata.namespace ?? '',
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
  apiVersion: 'batch/v1',
  resourceVersion: metadata.resourceVersion ?? '',
});

/** Returns the job, created now or before an interruption; `undefined`: the name belongs to another owner.
 *  @throws StatusError */
async function createJob(parts: Parts, cron: ApiObject, start: Start): Promise<ApiObject | undefined> {
  const { client, jobResource } = parts;
  const { verbs, caller, fieldManager, events } = client;
  const job = jobOf(parts, cron, start);
  jobResource.schema.applyDefaults(job);
  const ref = { resource: jobResource, namespace: cron.metadata.namespace ?? '', name: start.name };
  try {
    const { object } = await verbs.create({ ref, object: job, dryRun: false, fieldManager, caller });
    events.record(cron, 'Normal', 'SuccessfulCreate', `Created job ${start.name}`);
    return object;
  } catch (thrown) {
    if (thrown instanceof StatusError && thrown.reason === 'AlreadyExists') {
      const found = (await verbs.get(ref)).object();
      return found.metadata.ownerReferences?.some(({ uid }) => uid === cron.metadata.uid) === true
        ? found
        : undefined;
    }
    if (!isNamespaceEnding(thrown)) {
      events.record(cron, 'Warning', 'FailedCreate', `Error creating job: ${asError(thrown).message}`);
    }
    throw thrown;
  }
}

async function removeJob(
  { client, jobResource }: Parts,
  cron: ApiObject,
  { name, uid }: StartedJob,
): Promise<void> {
  const ref = { resource: jobResource, namespace: cron.metadata.namespace ?? '', name };
  await unlessGone(async () => {
    const request = { dryRun: false, preconditions: { uid }, propagationPolicy: 'Background' as const };
    await client.verbs.delete({ ...request, ref, caller: client.caller });
    client.events.record(cron, 'Normal', 'SuccessfulDelete', `Deleted job ${name}`);
  });
}

async function writeCronStatus(parts: Parts, owner: Owner, status: CronJobStatus): Promise<void> {
  if (sameStatus('batch/v1.CronJobStatus', status, typed<CronJob>(owner.cached.object()).status)) return;
  parts.queue.expect(owner.key);
  await writeStatus(parts.client, refOf(parts.resource, owner.cached), owner.uid, status);
}

async function execute(parts: Parts, owner: Owner, plan: CronPlan): Promise<void> {
  const cron = owner.cached.object();
  const { start, status } = plan;
  for (const { type, reason, message } of plan.events)
    parts.client.events.record(cron, type, reason, message);
  if (start !== undefined || plan.remove.length > 0) parts.queue.expect(owner.key);
  for (const job of plan.remove) await removeJob(parts, cron, job);
  if (start === undefined) return writeCronStatus(parts, owner, status);
  const job = await createJob(parts, cron, start);
  return writeCronStatus(parts, owner, {
    ...status,
    ...(job === undefined ? {} : { active: [...(status.active ?? []), referenceTo(job)] }),
    lastScheduleTime: formatTime(start.timeMs),
  });
}

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { owners, jobs, deps } = parts;
  const owner = owners.get(key);
  if (owner === undefined) return undefined;
  const started = jobs.ofOwner(owner.uid).map(({ cached }) => startedJob(typed<Job>(cached.object())));
  const zones = deps.gates.has('CronJobTimeZone');
  const cron = cronFacts(typed<CronJob>(owner.cached.object()), zones);
  const plan = decideCronJob(cron, started, deps.clock.now());
  try {
    await execute(parts, owner, plan);
  } catch (thrown) {
    if (isNamespaceEnding(thrown)) return undefined;
    throw thrown;
  }
  return plan.recheckMs;
}

export const cronJobController: Controller = defineController({
  name: 'cronjob',
  identity: 'cronjob-controller',
  watches: ['cronjobs', 'jobs'],
  writes: { cronjobs: { status: ['status'] }, jobs: { create: true, delete: true } },
  recordsEvents: true,
  start(context) {
    const base = createControllerBase(context, { resource: context.resourceOf('cronjobs') });
    const jobs = createChildren(context.cacheOf('jobs'), childFacts);
    const parts: Parts = { ...base, jobResource: context.resourceOf('jobs'), jobs };
    return { reconcile: (key) => reconcile(parts, key), follows: [...followOwned(base, jobs), jobs] };
  },
});
