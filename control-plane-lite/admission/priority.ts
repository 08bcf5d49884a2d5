/** Resolves priority class names to numbers. Source: Priority, document 2 §2.7; upstream's plugin, release
 *  1.24. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { PriorityClass } from '#api/gen/scheduling-v1.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import { refusal } from './refusal.ts';
import { type PodSpec, setInSpec } from './spec-draft.ts';

interface Priority {
  readonly name: string;
  readonly value: number;
  readonly policy: NonNullable<PriorityClass['preemptionPolicy']>;
}

const NO_CLASS: Priority = { name: '', value: 0, policy: 'PreemptLowerPriority' };

function priorityOf({ metadata, value, preemptionPolicy }: PriorityClass): Priority {
  return { name: metadata?.name ?? '', value, policy: preemptionPolicy ?? 'PreemptLowerPriority' };
}

export function createPriority({ vocabulary, objects }: AdmissionDeps): AdmissionPlugin {
  const group = `scheduling.${vocabulary.apiGroupDomain}`;
  const classes = objects(group, 'priorityclasses');
  /** Classes that are the default, of which there should be one. */
  const defaults = new Map<string, Priority>();
  classes.follow(({ type, current }) => {
    const found = typed<PriorityClass>(current.object());
    if (type !== 'DELETED' && found.globalDefault === true) defaults.set(current.name, priorityOf(found));
    else defaults.delete(current.name);
  });

  /** The lowest, should there be several. */
  function defaultClass(): Priority | undefined {
    let lowest: Priority | undefined;
    for (const each of defaults.values())
      if (lowest === undefined || each.value < lowest.value) lowest = each;
    return lowest;
  }

  function give(request: AdmissionRequest, { name, value, policy }: Priority): void {
    const { object } = request;
    if (object === undefined) return;
    const { priority, preemptionPolicy } = typed<Pod>(object).spec ?? {};
    if (priority !== undefined && priority !== value)
      throw refusal(
        request,
        `the integer value of priority (${priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
      );
    if (preemptionPolicy !== undefined && preemptionPolicy !== policy)
      throw refusal(
        request,
        `the string value of PreemptionPolicy (${preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
      );
    setInSpec<PodSpec>(object, {
      ...(name === '' ? {} : { priorityClassName: name }),
      priority: value,
      preemptionPolicy: policy,
    });
  }

  async function lookUp(request: AdmissionRequest, name: string): Promise<void> {
    const found = await classes.find(name);
    if (found === undefined) throw refusal(request, `no PriorityClass with name ${name} was found`);
    give(request, priorityOf(typed<PriorityClass>(found.object())));
  }

  function admitNew(request: AdmissionRequest): void | Promise<void> {
    if (request.object === undefined) return undefined;
    const name = typed<Pod>(request.object).spec?.priorityClassName ?? '';
    if (name === '') return give(request, defaultClass() ?? NO_CLASS);
    const known = classes.get(name);
    if (known === undefined) return lookUp(request, name);
    return give(request, priorityOf(typed<PriorityClass>(known.object())));
  }

  return {
    name: 'Priority',
    operations: ['CREATE', 'UPDATE'],
    resources: new Set(['/pods', `${group}/priorityclasses`]),
    mutate(request) {
      if (request.resource.info.plural !== 'pods' || request.subresource !== '') return undefined;
      return request.operation === 'CREATE' ? admitNew(request) : keep(request);
    },
    validate(request) {
      if (request.resource.info.plural !== 'priorityclasses' || request.object === undefined) return;
      if (typed<PriorityClass>(request.object).globalDefault !== true) return;
      const other = defaultClass();
      if (other === undefined || (request.operation === 'UPDATE' && other.name === request.name)) return;
      throw refusal(
        request,
        `PriorityClass ${other.name} is already marked as default. Only one default can exist`,
      );
    },
  };
}

/** A client that knows nothing of priorities leaves them as they are. */
function keep({ object, old }: AdmissionRequest): void {
  if (object === undefined || old === undefined) return;
  const now = typed<Pod>(object).spec;
  const { priority, preemptionPolicy } = typed<Pod>(old).spec ?? {};
  const change: Partial<PodSpec> = {
    ...(now?.priority === undefined && priority !== undefined ? { priority } : {}),
    ...(now?.preemptionPolicy === undefined && preemptionPolicy !== undefined ? { preemptionPolicy } : {}),
  };
  if (Object.keys(change).length > 0) setInSpec<PodSpec>(object, change);
}
