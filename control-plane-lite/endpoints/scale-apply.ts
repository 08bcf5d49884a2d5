/** Server-side apply of a Scale: the manager that sets the number of replicas owns that one field of the
 *  scaled object. Pure. Source: server-side apply, document 1 §4.9; upstream's handling of scale. */
import { isMutableObject } from '#api/kit/object.ts';
import { finish } from '#api/kit/steps.ts';
import { applyPatchObject } from '../apply/apply-patch.ts';
import { fromScaleEntries, type ScaleMapping as OwnershipMapping, toScaleEntries } from '../apply/scale.ts';
import type { ApiObject } from '../resources/contract.ts';
import type { ScaleMapping } from './scale-mapping.ts';

const IDENTITY: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** Returns the path of a kind's replicas field, determined by setting one. */
export function replicasPathOf(mapping: Pick<ScaleMapping, 'apply'>): readonly string[] {
  const probe: ApiObject = { apiVersion: '', kind: '', metadata: {} };
  mapping.apply(probe, { ...probe, spec: { replicas: 1 } });
  const path: string[] = [];
  let [name] = Object.keys(probe).filter((member) => !IDENTITY.has(member));
  let at: unknown = probe;
  while (name !== undefined && isMutableObject(at)) {
    path.push(`f:${name}`);
    at = at[name];
    [name] = isMutableObject(at) ? Object.keys(at) : [];
  }
  return path;
}

export interface ScaleApplication {
  /** The client's body. */
  readonly applied: unknown;
  readonly manager: string;
  readonly force: boolean;
  readonly nowMs: number;
  readonly owners: OwnershipMapping;
}

/** Returns the Scale with the applied values and its managedFields; `undefined` if nothing changes.
 *  @throws StatusError BadRequest, Conflict */
export function applyToScale(
  live: ApiObject,
  mapping: ScaleMapping,
  { applied, manager, force, nowMs, owners }: ScaleApplication,
): ApiObject | undefined {
  const scale = mapping.scaleOf(live);
  const managedFields = toScaleEntries(live.metadata.managedFields, owners);
  const { object, changed } = finish(
    applyPatchObject({
      live:
        managedFields === undefined ? scale : { ...scale, metadata: { ...scale.metadata, managedFields } },
      applied,
      model: mapping.schema.model,
      manager,
      force,
      nowMs,
      apiVersion: owners.scaleVersion,
      subresource: 'scale',
    }),
  );
  return changed ? object : undefined;
}

/** Transfers the ownership of a Scale's fields to the scaled object. Changes the draft. */
export function passOwnersOn(draft: ApiObject, scale: ApiObject, owners: OwnershipMapping): void {
  const { metadata } = draft;
  const entries = fromScaleEntries(metadata.managedFields, scale.metadata.managedFields, owners);
  if (entries === undefined) delete metadata.managedFields;
  else metadata.managedFields = entries;
}
