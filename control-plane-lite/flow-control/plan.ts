/** Plans flow control from the FlowSchemas and PriorityLevelConfigurations: the seats of each level, the schemas in
 *  the order of matching, and which schemas name no level. Pure. Source: upstream's apf_controller.go of
 *  release 1.24. */
import type {
  FlowSchema,
  PriorityLevelConfiguration,
  QueuingConfiguration,
} from '#api/gen/flowcontrol-apiserver-v1beta2.ts';
import { CATCH_ALL, EXEMPT, type FlowDefaults, isMandatory } from './defaults.ts';
import { compareSchemas } from './match.ts';

export interface LevelPlan {
  readonly object: PriorityLevelConfiguration;
  /** `undefined`: requests are exempt from limits. */
  readonly seats: number | undefined;
  /** Absent: requests beyond the seats are rejected. */
  readonly queuing: QueuingConfiguration | undefined;
  /** The object was deleted; the level exists until its queues are empty. */
  readonly quiescing: boolean;
}

export interface FlowPlan {
  readonly levels: readonly LevelPlan[];
  /** In the order of matching. All name a level of the plan. */
  readonly schemas: readonly FlowSchema[];
}

export interface FlowObjects {
  readonly levels: readonly PriorityLevelConfiguration[];
  readonly schemas: readonly FlowSchema[];
}

export const nameOf = ({ metadata }: PriorityLevelConfiguration | FlowSchema): string => metadata?.name ?? '';
const levelOf = ({ spec }: FlowSchema): string => spec?.priorityLevelConfiguration.name ?? '';
const sharesOf = ({ spec }: PriorityLevelConfiguration): number =>
  spec?.limited?.assuredConcurrencyShares ?? 0;

/** Validation ensures it, except for objects that an older version stored. */
function isSound(object: PriorityLevelConfiguration): boolean {
  const { type, limited } = object.spec ?? {};
  if ((type === 'Exempt') !== (limited === undefined)) return false;
  if ((type === 'Exempt') !== (nameOf(object) === EXEMPT)) return false;
  const { type: response, queuing } = limited?.limitResponse ?? {};
  return limited === undefined || (response === 'Reject') === (queuing === undefined);
}

/** Adds the mandatory objects that are missing. */
function withMandatory<T extends PriorityLevelConfiguration | FlowSchema>(
  objects: readonly T[],
  defaults: readonly T[],
): readonly T[] {
  const names = new Set(objects.map(nameOf));
  return [
    ...objects,
    ...defaults.filter((object) => isMandatory(nameOf(object)) && !names.has(nameOf(object))),
  ];
}

export interface PlanOptions {
  readonly defaults: FlowDefaults;
  /** Seats of the server, divided among the levels by their shares. */
  readonly seats: number;
  /** Levels of the previous plan that still have requests. */
  readonly busy: readonly PriorityLevelConfiguration[];
}

export function planFlows(objects: FlowObjects, { defaults, seats, busy }: PlanOptions): FlowPlan {
  const wanted = withMandatory(objects.levels.filter(isSound), defaults.levels);
  const names = new Set(wanted.map(nameOf));
  const quiescing = busy.filter((object) => !names.has(nameOf(object)));
  const all = [...wanted, ...quiescing];
  const shares = all.reduce((sum, object) => sum + sharesOf(object), 0);
  const levels = all.map((object, index): LevelPlan => {
    const limited = object.spec?.limited;
    return {
      object,
      seats: limited === undefined ? undefined : Math.ceil((seats * sharesOf(object)) / shares),
      queuing: limited?.limitResponse?.queuing,
      quiescing: index >= wanted.length,
    };
  });
  const schemas = objects.schemas.filter((schema) => names.has(levelOf(schema)));
  return { levels, schemas: withMandatory(schemas, defaults.schemas).toSorted(compareSchemas) };
}

const DANGLING = 'Dangling';

export interface DanglingCondition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/** Returns the condition that a FlowSchema must get; `undefined`: it has it. */
export function danglingCondition(
  schema: FlowSchema,
  levels: readonly PriorityLevelConfiguration[],
): DanglingCondition | undefined {
  const level = levelOf(schema);
  const exists =
    level === EXEMPT ||
    level === CATCH_ALL ||
    levels.some((object) => nameOf(object) === level && isSound(object));
  const found = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)}`;
  const wanted: DanglingCondition = exists
    ? { type: DANGLING, status: 'False', reason: 'Found', message: `${found} and it exists` }
    : { type: DANGLING, status: 'True', reason: 'NotFound', message: `${found} but there is no such object` };
  const current = schema.status?.conditions?.find(({ type }) => type === DANGLING);
  const { status, reason, message } = current ?? {};
  return status === wanted.status && reason === wanted.reason && message === wanted.message
    ? undefined
    : wanted;
}
