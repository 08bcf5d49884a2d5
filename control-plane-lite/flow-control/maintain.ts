/** Decides how the default objects are maintained. Mandatory objects always have the server's spec. A suggested
 *  object has it unless users control the object, and is recreated if it was deleted. A default object of another
 *  release is deleted unless users control it. Pure. Source: upstream's flowcontrol ensurer of release 1.24. */
import { isDeepStrictEqual } from 'node:util';
import { isMandatory } from './defaults.ts';

interface FlowObject {
  readonly metadata?: {
    readonly name?: string;
    readonly uid?: string;
    readonly generation?: number | bigint;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: object;
}

export type Maintenance<Default> =
  | { readonly kind: 'create'; readonly object: Default }
  /** Sets the annotation, and the spec if there is one. */
  | {
      readonly kind: 'update';
      readonly object: Default;
      readonly annotation: 'true' | 'false';
      readonly spec?: object;
    }
  | { readonly kind: 'delete'; readonly name: string; readonly uid: string };

/** Reports whether servers control the spec of an object: by its annotation, or because nobody changed it. */
function isAutomatic({ metadata }: FlowObject, key: string): boolean {
  const annotation = metadata?.annotations?.[key];
  if (annotation === 'true' || annotation === 'false') return annotation === 'true';
  return Number(metadata?.generation ?? 1) === 1;
}

function maintain<Default extends FlowObject>(
  live: FlowObject | undefined,
  object: Default,
  key: string,
): Maintenance<Default> | undefined {
  if (live === undefined) return { kind: 'create', object };
  const automatic = isMandatory(object.metadata?.name ?? '') || isAutomatic(live, key);
  const annotation = automatic ? 'true' : 'false';
  const outdated = automatic && !isDeepStrictEqual(live.spec, object.spec);
  if (!outdated && live.metadata?.annotations?.[key] === annotation) return undefined;
  return {
    kind: 'update',
    object,
    annotation,
    ...(outdated && object.spec !== undefined ? { spec: object.spec } : {}),
  };
}

/** Returns the changes of the live objects of one kind.
 *  @param key of the annotation that says whether servers control the spec */
export function decideMaintenance<Default extends FlowObject>(
  live: readonly FlowObject[],
  defaults: readonly Default[],
  key: string,
): readonly Maintenance<Default>[] {
  const liveByName = new Map(live.map((object) => [object.metadata?.name ?? '', object]));
  const names = new Set(defaults.map(({ metadata }) => metadata?.name ?? ''));
  const changes: Maintenance<Default>[] = [];
  for (const object of defaults) {
    const change = maintain(liveByName.get(object.metadata?.name ?? ''), object, key);
    if (change !== undefined) changes.push(change);
  }
  for (const { metadata } of live) {
    const name = metadata?.name ?? '';
    if (names.has(name) || metadata?.annotations?.[key] !== 'true') continue;
    changes.push({ kind: 'delete', name, uid: metadata.uid ?? '' });
  }
  return changes;
}
