/** Server-side apply of a Scale: who sets the number of pods owns that one field of the object behind it.
 *  Source: document 1, 4.9; upstream's handling of scale. Pure. */
import { applyPatchObject } from '../apply/apply-patch.ts';
import { fromScaleEntries, type ScaleMapping as OwnershipMapping, toScaleEntries } from '../apply/scale.ts';
import type { ApiObject } from '../resources/contract.ts';
import { isMembers } from '../resources/view.ts';
import type { ScaleMapping } from './scale.ts';

const IDENTITY: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** Where a kind has its number of pods, found out by setting one. */
export function replicasPathOf(mapping: Pick<ScaleMapping, 'apply'>): readonly string[] {
  const probe: ApiObject = { apiVersion: '', kind: '', metadata: {} };
  mapping.apply(probe, { ...probe, spec: { replicas: 1 } });
  const path: string[] = [];
  let [name] = Object.keys(probe).filter((member) => !IDENTITY.has(member));
  let at: unknown = probe;
  while (name !== undefined && isMembers(at)) {
    path.push(`f:${name}`);
    at = at[name];
    [name] = isMembers(at) ? Object.keys(at) : [];
  }
  return path;
}

export interface ScaleApplication {
  /** What the client sent. */
  readonly applied: unknown;
  readonly manager: string;
  readonly force: boolean;
  readonly nowMs: number;
  readonly owners: OwnershipMapping;
}

/** The Scale with what is applied, and in its managedFields who owns what of it; `undefined`: nothing changes.
 *  @throws StatusError BadRequest, Conflict */
export function applyToScale(
  live: ApiObject,
  mapping: ScaleMapping,
  { applied, manager, force, nowMs, owners }: ScaleApplication,
): ApiObject | undefined {
  const scale = mapping.scaleOf(live);
  const managedFields = toScaleEntries(live.metadata.managedFields, owners);
  const { object, changed } = applyPatchObject({
    live: managedFields === undefined ? scale : { ...scale, metadata: { ...scale.metadata, managedFields } },
    applied,
    model: mapping.schema.model,
    manager,
    force,
    nowMs,
    apiVersion: owners.scaleVersion,
    subresource: 'scale',
  });
  return changed ? object : undefined;
}

/** Gives the owners of a Scale the field of the object behind it. Changes the draft. */
export function passOwnersOn(draft: ApiObject, scale: ApiObject, owners: OwnershipMapping): void {
  const { metadata } = draft;
  const entries = fromScaleEntries(metadata.managedFields, scale.metadata.managedFields, owners);
  if (entries === undefined) delete metadata.managedFields;
  else metadata.managedFields = entries;
}
