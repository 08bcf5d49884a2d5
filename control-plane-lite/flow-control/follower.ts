/** Keeps flow control configured with the objects of the API server, and the objects as upstream does: the default
 *  ones exist and are current, and each FlowSchema's status says whether its level exists. A change takes effect as
 *  soon as the cache has it. */
import type { FlowSchema, PriorityLevelConfiguration } from '#api/gen/flowcontrol-apiserver-v1beta2.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop, type Loop } from '#api/kit/loop.ts';
import type { ResourceCache, WatchHandle } from '../cache/contract.ts';
import { typed } from '../resources/view.ts';
import type { FlowDefaults } from './defaults.ts';
import type { ConfigurableFlowControl } from './flow-control.ts';
import { decideMaintenance, type Maintenance } from './maintain.ts';
import { type DanglingCondition, danglingCondition, nameOf } from './plan.ts';

export type FlowKind = 'FlowSchema' | 'PriorityLevelConfiguration';

/** Writes of objects. They must ignore that an object exists already, or no longer. */
export interface FlowWriter {
  apply(kind: FlowKind, change: Maintenance<FlowSchema | PriorityLevelConfiguration>): Promise<void>;
  setCondition(schema: string, condition: DanglingCondition): Promise<void>;
}

export interface FollowerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly control: Pick<ConfigurableFlowControl, 'configure'>;
  readonly schemas: Pick<ResourceCache, 'follow'>;
  readonly levels: Pick<ResourceCache, 'follow'>;
  readonly defaults: FlowDefaults;
  readonly autoUpdateKey: string;
  readonly writer: FlowWriter;
  /** Runs a task after the current one, before the event loop continues. */
  readonly defer: (task: () => void) => void;
}

export interface FlowFollower {
  /** Maintains objects until the signal. */
  run(signal: AbortSignal): Promise<void>;
  /** Stops following. */
  close(): void;
}

/** Servers of different releases that share a store would otherwise undo each other's changes all the time. */
const MAINTAIN_EVERY_MS = 60_000;
/** Maximum writes of the status of one FlowSchema per minute. */
const MOST_STATUS_WRITES = 6;
const MINUTE_MS = 60_000;
/** A status that was written too often is written later. */
const STATUS_RETRY_MS = 30_000;

type FlowObject = FlowSchema | PriorityLevelConfiguration;

/** Counts writes per name within the last minute. */
function createWriteLimit(clock: Clock): (name: string) => boolean {
  let writes: { readonly name: string; readonly atMs: number }[] = [];
  return (name) => {
    const nowMs = clock.monotonic();
    writes = writes.filter(({ atMs }) => nowMs - atMs < MINUTE_MS);
    if (writes.filter((write) => write.name === name).length >= MOST_STATUS_WRITES) return false;
    writes.push({ name, atMs: nowMs });
    return true;
  };
}

/** Changes of a status need no new configuration. */
const isSameSpec = (left: FlowObject | undefined, right: FlowObject): boolean =>
  left !== undefined &&
  left.metadata?.uid === right.metadata?.uid &&
  left.metadata?.generation === right.metadata?.generation;

function followObjects<T extends FlowObject>(
  cache: Pick<ResourceCache, 'follow'>,
  objects: Map<string, T>,
  onChange: (specChanged: boolean) => void,
): WatchHandle {
  return cache.follow(({ type, current }) => {
    if (type === 'DELETED') {
      objects.delete(current.name);
      return onChange(true);
    }
    const object = typed<T>(current.object());
    const same = isSameSpec(objects.get(current.name), object);
    objects.set(current.name, object);
    return onChange(!same);
  });
}

export function createFlowFollower(deps: FollowerDeps): FlowFollower {
  const { clock, log, control, defaults, writer } = deps;
  const schemas = new Map<string, FlowSchema>();
  const levels = new Map<string, PriorityLevelConfiguration>();
  const mayWriteStatus = createWriteLimit(clock);
  let pending = false;
  let maintainedMs = Number.NEGATIVE_INFINITY;

  function configure(): void {
    pending = false;
    control.configure({ schemas: [...schemas.values()], levels: [...levels.values()] });
  }

  /** @returns whether a write has to wait */
  async function writeConditions(signal: AbortSignal): Promise<boolean> {
    let late = false;
    for (const schema of schemas.values()) {
      const condition = danglingCondition(schema, [...levels.values()]);
      if (condition === undefined) continue;
      signal.throwIfAborted();
      if (mayWriteStatus(nameOf(schema))) await writer.setCondition(nameOf(schema), condition);
      else late = true;
    }
    return late;
  }

  async function maintain(signal: AbortSignal): Promise<void> {
    const { autoUpdateKey } = deps;
    for (const change of decideMaintenance([...levels.values()], defaults.levels, autoUpdateKey)) {
      signal.throwIfAborted();
      await writer.apply('PriorityLevelConfiguration', change);
    }
    for (const change of decideMaintenance([...schemas.values()], defaults.schemas, autoUpdateKey)) {
      signal.throwIfAborted();
      await writer.apply('FlowSchema', change);
    }
  }

  async function step(signal: AbortSignal): Promise<number | undefined> {
    const nowMs = clock.monotonic();
    const waitMs = maintainedMs + MAINTAIN_EVERY_MS - nowMs;
    if (waitMs <= 0) {
      await maintain(signal);
      maintainedMs = nowMs;
    }
    const late = await writeConditions(signal);
    const waits = [...(late ? [STATUS_RETRY_MS] : []), ...(waitMs > 0 ? [waitMs] : [])];
    return waits.length === 0 ? undefined : clock.now() + Math.min(...waits);
  }

  const loop: Loop = createLoop({
    clock,
    step,
    onError: (err) => log.warn({ err }, 'Failed to maintain flow control objects; retrying'),
  });

  function onChange(specChanged: boolean): void {
    if (specChanged && !pending) {
      pending = true;
      deps.defer(configure);
    }
    loop.wake();
  }

  const handles = [
    followObjects(deps.levels, levels, onChange),
    followObjects(deps.schemas, schemas, onChange),
  ];
  return {
    run(signal) {
      loop.wake();
      return loop.run(signal);
    },
    close() {
      for (const handle of handles) handle.close();
    },
  };
}
