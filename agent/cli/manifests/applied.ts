/** Manifests that were applied through the socket. */
import { isObject } from '#api/kit/object.ts';
import type { LocalApi } from '../client/api-client.ts';
import { listMember, textMember } from '../client/responses.ts';
import { CommandError } from '../errors.ts';
import { nameKey, nameOfManifest, type ObjectName } from './objects.ts';

export interface AppliedManifest {
  readonly name: ObjectName;
  /** Values of a Secret are masked. */
  readonly manifest: Readonly<Record<string, unknown>>;
}

/** @throws AgentUnreachableError, ApiError */
export async function fetchApplied(api: LocalApi, signal: AbortSignal): Promise<readonly AppliedManifest[]> {
  const items = listMember(await api.json({ path: ['applied'], signal }), 'items');
  return items.filter(isObject).flatMap((manifest) => {
    const name = nameOfManifest(manifest);
    return name === undefined ? [] : [{ name, manifest }];
  });
}

/** Returns the applied manifest. @throws CommandError when it comes from another source or does not exist */
export async function findApplied(
  api: LocalApi,
  wanted: ObjectName,
  signal: AbortSignal,
): Promise<AppliedManifest> {
  const key = nameKey(wanted);
  const found = (await fetchApplied(api, signal)).find(({ name }) => nameKey(name) === key);
  if (found !== undefined) return found;
  throw new CommandError(
    `${wanted.kind} ${wanted.namespace}/${wanted.name} was not applied through the socket of the agent`,
  );
}

/** Place of a manifest, as the agent reports it. */
export interface ManifestOriginText {
  readonly source: string;
  readonly location: string;
}

/** Returns where the agent reads an object from; undefined if it has no such object. */
export async function findOrigin(
  api: LocalApi,
  { kind, namespace, name }: ObjectName,
  signal: AbortSignal,
): Promise<ManifestOriginText | undefined> {
  const response = await api.json({ path: ['manifests', 'origins'], signal });
  for (const item of listMember(response, 'items').filter(isObject)) {
    const isIt =
      textMember(item, 'kind') === kind &&
      (kind === 'PersistentVolume' || textMember(item, 'namespace') === namespace) &&
      textMember(item, 'name') === name;
    if (!isIt) continue;
    const origin = isObject(item['origin']) ? item['origin'] : {};
    return { source: textMember(origin, 'source'), location: textMember(origin, 'location') };
  }
  return undefined;
}
