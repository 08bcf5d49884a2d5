/** Pods of a job. Pure. Source: upstream's Job controller, release 1.24. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { Container, PodTemplateSpec } from '#api/gen/core-v1.ts';
import type { OwnerReference } from '#api/gen/meta-v1.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { membersOf } from '../../resources/view.ts';
import { podFromTemplate } from '../workloads-kit/pod-writer.ts';
import type { JobNames } from './model.ts';

const INDEX_VARIABLE = 'JOB_COMPLETION_INDEX';

/** The containers with a variable for the index, unless they define one of that name. */
function withIndex(containers: readonly Container[], { index }: JobNames): readonly Container[] {
  const fieldRef = { fieldPath: `metadata.annotations['${index}']` };
  return containers.map((container) => {
    const { env = [] } = container;
    if (env.some(({ name }) => name === INDEX_VARIABLE)) return container;
    return { ...container, env: [...env, { name: INDEX_VARIABLE, valueFrom: { fieldRef } }] };
  });
}

export interface JobPodRequest {
  readonly job: ApiObject;
  readonly template: PodTemplateSpec;
  readonly reference: OwnerReference;
  readonly names: JobNames;
  /** Absent: the job has no indexes. */
  readonly index: number | undefined;
  readonly tracked: boolean;
}

export function podOfJob({ job, template, reference, names, index, tracked }: JobPodRequest): ApiObject {
  const finalizers = tracked ? { finalizers: [names.tracking] } : {};
  if (index === undefined) return podFromTemplate(template, job, reference, finalizers);
  const name = `${job.metadata.name ?? ''}-${index}`;
  const annotations = { [names.index]: String(index) };
  const pod = podFromTemplate(template, job, reference, {
    generateName: `${name}-`,
    annotations,
    ...finalizers,
  });
  const spec = membersOf(pod, 'spec');
  const { containers = [], initContainers } = template.spec ?? {};
  spec['containers'] = copyJson(withIndex(containers, names));
  if (initContainers !== undefined) spec['initContainers'] = copyJson(withIndex(initContainers, names));
  spec['hostname'] = name;
  return pod;
}
